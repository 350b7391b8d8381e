package cri

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxExecOutput is how much of both streams together ExecSync returns; the rest is cut off
// (https://github.com/kubernetes/cri-api/blob/v0.36.3/pkg/apis/runtime/v1/api.proto, ExecSyncResponse). It leaves room
// for what else is in the message, which must not be larger than maxMessage.
const maxExecOutput = maxMessage - 1<<10

// ExecSync runs a program in a container and returns its output and exit code. A program that is not done in time is
// killed, and one whose turn does not come in time is not started; the error's code is DeadlineExceeded, which the
// kubelet takes for a probe's timeout
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/cri-client/pkg/remote_runtime.go,
// execSyncV1).
func (s *Server) ExecSync(ctx context.Context, req *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	c, err := s.running(req.GetContainerId())
	if err != nil {
		return nil, fmt.Errorf("exec: %w", err)
	}
	if t := req.GetTimeout(); t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(t)*time.Second)
		defer cancel()
	}

	room := outputRoom{left: maxExecOutput}
	stdout, stderr := limitedBuffer{room: &room}, limitedBuffer{room: &room}
	code, err := s.exec(ctx, c, s.queue.KindOf(c.ID), req.GetCmd(), execStreams{out: &stdout, err: &stderr})
	s.judge(c, req, code, err)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, status.Errorf(codes.DeadlineExceeded, "exec in container %q: timeout of %d s exceeded: %v", c.ID,
			req.GetTimeout(), err)
	}

	if err != nil {
		return nil, err
	}
	return &runtimeapi.ExecSyncResponse{
		Stdout:   stdout.kept.Bytes(),
		Stderr:   stderr.kept.Bytes(),
		ExitCode: int32(code),
	}, nil
}

// outputRoom counts how many more bytes of output are kept.
type outputRoom struct {
	mu   sync.Mutex
	left int
}

// take reserves up to n bytes and returns how many it got.
func (r *outputRoom) take(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n = min(n, r.left)
	r.left -= n
	return n
}

// limitedBuffer keeps output as long as there is room and drops the rest.
type limitedBuffer struct {
	room *outputRoom
	kept bytes.Buffer
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.kept.Write(p[:b.room.take(len(p))])
	return len(p), nil
}
