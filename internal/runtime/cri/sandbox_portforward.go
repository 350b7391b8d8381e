package cri

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// PortForward prepares a connection to a port of a pod at the returned address.
func (s *Server) PortForward(_ context.Context, req *runtimeapi.PortForwardRequest) (*runtimeapi.PortForwardResponse,
	error,
) {
	sb, err := s.sandboxes.Get(req.GetPodSandboxId())
	if err != nil {
		return nil, fmt.Errorf("forward port: %w", err)
	}
	if sb.State() != runtimeapi.PodSandboxState_SANDBOX_READY {
		return nil, fmt.Errorf("forward port: sandbox %q is not running: %w", sb.ID, errdefs.ErrFailedPrecondition)
	}
	return s.streams.GetPortForward(req)
}

// dialTimeout is how long a pod may take to accept a forwarded connection.
const dialTimeout = 10 * time.Second

// PortForward implements the streaming server's runtime: it connects stream to localhost:port inside the pod.
func (r streamRuntime) PortForward(ctx context.Context, id string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	sb, err := r.s.sandboxes.Get(id)
	if err != nil {
		return err
	}
	if port <= 0 || port > 65535 {
		return fmt.Errorf("forward port %d: it is no port: %w", port, errdefs.ErrInvalidArgument)
	}

	dialCtx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := r.s.kindOf(sb.ID).dial(dialCtx, sb, uint16(port))
	if err != nil {
		return fmt.Errorf("forward port %d of pod %q: %w", port, sb.Config.GetMetadata().GetName(), err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()

	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(stream, conn)
		done <- err
	}()

	go func() {
		_, _ = io.Copy(conn, stream)
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite() // The client has said all; the pod may still answer.
		}
	}()

	return <-done
}
