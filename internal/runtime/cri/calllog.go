package cri

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// interceptor gives errors their gRPC code. At debug it logs each call, with its pod and container; else nothing of
// that is looked up.
func (s *Server) interceptor(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any,
	error,
) {
	if !s.log.Enabled(ctx, slog.LevelDebug) {
		resp, err := handler(ctx, req)
		return resp, coded(err)
	}
	start := time.Now()
	subject := s.subjectOf(req) // before the call, which may remove it

	resp, err := handler(ctx, req)
	subject.madeBy(resp)
	s.logCall(ctx, info.FullMethod, start, subject, err)
	return resp, coded(err)
}

// streamInterceptor is interceptor for calls whose answer is a stream. They are logged when the stream ends.
func (s *Server) streamInterceptor(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler,
) error {
	start := time.Now()
	err := handler(srv, ss)
	if s.log.Enabled(ss.Context(), slog.LevelDebug) {
		s.logCall(ss.Context(), info.FullMethod, start, subject{}, err)
	}
	return coded(err)
}

func (s *Server) logCall(ctx context.Context, method string, start time.Time, of subject, err error) {
	attrs := append([]slog.Attr{slog.String("method", method), slog.Duration("took", time.Since(start))}, of.attrs()...)
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	s.log.LogAttrs(ctx, slog.LevelDebug, "call", attrs...)
}

// subject is what a call is about. Fields that are not known are empty.
type subject struct {
	// sandbox and container are ids, pod is namespace/name.
	sandbox, pod, container, image string
}

func (o subject) attrs() []slog.Attr {
	var attrs []slog.Attr
	for _, a := range []struct{ key, value string }{
		{"sandbox", o.sandbox},
		{"pod", o.pod},
		{"container", o.container},
		{"image", o.image},
	} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.key, a.value))
		}
	}
	return attrs
}

// subjectOf reads from a request what it is about, and finds the pod of a container. Requests are told apart by the
// fields that they have, so a new one of CRI is logged as those that there are.
func (s *Server) subjectOf(req any) subject {
	var o subject
	if r, ok := req.(interface{ GetPodSandboxId() string }); ok {
		o.sandbox = r.GetPodSandboxId()
	}
	if r, ok := req.(interface{ GetContainerId() string }); ok {
		o.container = r.GetContainerId()
	}

	if r, ok := req.(interface{ GetImage() *runtimeapi.ImageSpec }); ok {
		o.image = r.GetImage().GetImage()
	}
	if r, ok := req.(interface {
		GetConfig() *runtimeapi.PodSandboxConfig
	}); ok {
		o.pod = podName(r.GetConfig())
	}

	s.findPod(&o)
	return o
}

// findPod fills in a container's sandbox, and a sandbox's pod.
func (s *Server) findPod(o *subject) {
	if c, err := s.containers.Get(o.container); o.container != "" && err == nil {
		o.sandbox = c.SandboxID
	}
	if sb, err := s.sandboxes.Get(o.sandbox); o.sandbox != "" && err == nil {
		o.pod = podName(sb.Config.PodSandboxConfig)
	}
}

// podName is namespace/name, "" for a configuration without names.
func podName(c *runtimeapi.PodSandboxConfig) string {
	m := c.GetMetadata()
	if m.GetName() == "" {
		return ""
	}
	return m.GetNamespace() + "/" + m.GetName()
}

// madeBy adds the id of what a call has made.
func (o *subject) madeBy(resp any) {
	switch r := resp.(type) {
	case *runtimeapi.RunPodSandboxResponse:
		o.sandbox = r.GetPodSandboxId()
	case *runtimeapi.CreateContainerResponse:
		o.container = r.GetContainerId()
	}
}
