package cri

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/runtime/cri/store"
)

// logged returns a server that knows a pod with a container, and what it logs at a level.
func logged(tb testing.TB, level slog.Leveler) (*Server, *bytes.Buffer) {
	tb.Helper()
	var text bytes.Buffer
	s := &Server{log: logging.New(&text, level)}
	var err error
	if s.sandboxes, err = store.Open[store.Sandbox](filepath.Join(tb.TempDir(), "sandboxes")); err != nil {
		tb.Fatal(err)
	}

	if s.containers, err = store.Open[store.Container](filepath.Join(tb.TempDir(), "containers")); err != nil {
		tb.Fatal(err)
	}
	config := store.SandboxConfig{PodSandboxConfig: podConfig()}
	if err := s.sandboxes.Put("pod1", store.Sandbox{ID: "pod1", Config: config}); err != nil {
		tb.Fatal(err)
	}

	if err := s.containers.Put("container1", store.Container{ID: "container1", SandboxID: "pod1"}); err != nil {
		tb.Fatal(err)
	}
	return s, &text
}

func podConfig() *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: "web-0", Namespace: "shop"}}
}

// TestCallsAreLogged: at debug a call's line has what the call is about, whether it names the pod or the container, and
// what it has made.
func TestCallsAreLogged(t *testing.T) {
	image := &runtimeapi.ImageSpec{Image: "registry.example/web:1"}
	for name, c := range map[string]struct {
		req, resp any
		err       error
		want      string
	}{
		"of a pod": {
			req:  &runtimeapi.StopPodSandboxRequest{PodSandboxId: "pod1"},
			want: "sandbox=pod1 pod=shop/web-0",
		},
		"of a container": {
			req:  &runtimeapi.StartContainerRequest{ContainerId: "container1"},
			err:  errors.New("no such program"),
			want: `sandbox=pod1 pod=shop/web-0 container=container1 error="no such program"`,
		},
		"of one that nobody knows": {
			req:  &runtimeapi.StopContainerRequest{ContainerId: "other"},
			want: "container=other",
		},
		"which makes a pod": {
			req:  &runtimeapi.RunPodSandboxRequest{Config: podConfig()},
			resp: &runtimeapi.RunPodSandboxResponse{PodSandboxId: "pod2"},
			want: "sandbox=pod2 pod=shop/web-0",
		},
		"which makes a container": {
			req:  &runtimeapi.CreateContainerRequest{PodSandboxId: "pod1"},
			resp: &runtimeapi.CreateContainerResponse{ContainerId: "container2"},
			want: "sandbox=pod1 pod=shop/web-0 container=container2",
		},
		"of an image": {
			req:  &runtimeapi.PullImageRequest{Image: image},
			want: "image=registry.example/web:1",
		},
		"of nothing": {
			req:  &runtimeapi.VersionRequest{},
			want: "",
		},
		"that forges lines": {
			req:  &runtimeapi.StopContainerRequest{ContainerId: "x\nlevel=ERROR msg=forged"},
			want: `container="x\nlevel=ERROR msg=forged"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, text := logged(t, logging.Debug)
			got, err := s.interceptor(t.Context(), c.req, &grpc.UnaryServerInfo{FullMethod: "/v1/Call"},
				func(context.Context, any) (any, error) { return c.resp, c.err })
			if got != c.resp || (err == nil) != (c.err == nil) {
				t.Errorf("the answer is %v, %v", got, err)
			}

			line := text.String()
			_, fields, found := strings.Cut(line, " msg=call method=/v1/Call took=")
			_, fields, _ = strings.Cut(strings.TrimSuffix(fields, "\n"), " ")
			if !found || fields != c.want || strings.Count(line, "\n") != 1 {
				t.Errorf("it is logged as %q, want %q behind the time", line, c.want)
			}
		})
	}
}

// TestRemovedIsLogged: the call that removes a container still names its pod.
func TestRemovedIsLogged(t *testing.T) {
	s, text := logged(t, logging.Debug)
	req := &runtimeapi.RemoveContainerRequest{ContainerId: "container1"}
	_, err := s.interceptor(t.Context(), req, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) {
		return nil, s.containers.Delete("container1")
	})
	if err != nil || !strings.Contains(text.String(), "sandbox=pod1 pod=shop/web-0 container=container1") {
		t.Errorf("%v, %s", err, text)
	}
}

// TestNothingAtInfo: at info a call costs nothing for the log: no line, no allocation.
func TestNothingAtInfo(t *testing.T) {
	s, text := logged(t, logging.NewDial(logging.Info))
	if n := testing.AllocsPerRun(100, calling(t.Context(), s)); n != 0 || text.Len() > 0 {
		t.Errorf("%v allocations a call, and logged is %q", n, text)
	}
}

// calling calls the interceptor for a call that does nothing.
func calling(ctx context.Context, s *Server) func() {
	req := &runtimeapi.StartContainerRequest{ContainerId: "container1"}
	info := &grpc.UnaryServerInfo{FullMethod: "/v1/Call"}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	return func() { _, _ = s.interceptor(ctx, req, info, handler) }
}

func BenchmarkCall(b *testing.B) {
	for _, level := range []logging.Level{logging.Info, logging.Debug} {
		b.Run(level.String(), func(b *testing.B) {
			s, text := logged(b, level)
			call := calling(b.Context(), s)
			b.ReportAllocs()
			for b.Loop() {
				call()
				text.Reset()
			}
		})
	}
}
