package shim

import (
	"context"
	"errors"
	"fmt"
	"time"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"mullion.dev/mullion/internal/runtime/vm/link"
)

// toContainer passes a call for a container on to the guest. The guest's answer is dropped: with unknown fields it may
// be as large as a message can be, and with the shim's own words larger.
func toContainer[Q interface{ GetID() string }](ctx context.Context, s *service, request Q,
	call func(taskapi.TTRPCTaskService, context.Context, Q) (*emptypb.Empty, error),
) (*emptypb.Empty, error) {
	m, _, err := s.find(request.GetID())
	if err != nil {
		return nil, err
	}
	_, err = forward(ctx, m, func(ctx context.Context, request Q) (*emptypb.Empty, error) {
		return call(m.tasks, ctx, request)
	}, request)
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// callTimeout is how long a guest may take to answer a call. One that takes longer is ended: it is broken, or does not
// want to answer.
const callTimeout = 3 * time.Minute

// forward makes a call of the guest.
func forward[Q, A any](ctx context.Context, m *machine, call func(context.Context, Q) (A, error), request Q,
) (answer A, err error) {
	if !m.ended().IsZero() {
		return answer, errgrpc.ToGRPC(fmt.Errorf("the machine has ended: %w", errdefs.ErrNotFound))
	}
	timer := time.AfterFunc(callTimeout, m.qemu.Kill)
	defer timer.Stop()
	answer, err = call(ctx, request)
	if err != nil && m.endsSoon(ctx) {
		return answer, errgrpc.ToGRPC(fmt.Errorf("the machine has ended: %w", errdefs.ErrNotFound))
	}
	return answer, bounded(err)
}

// endsSoon reports after a failed call whether the machine has ended: the link may end a moment before QEMU does. A
// guest that ends the link but goes on is ended.
func (m *machine) endsSoon(ctx context.Context) bool {
	if ctx.Err() != nil || !m.host.Closed() {
		return !m.ended().IsZero()
	}
	m.qemu.Kill()
	return true
}

// bounded cuts the text of an error of the guest, and keeps its kind.
func bounded(err error) error {
	if err == nil {
		return nil
	}

	native := errgrpc.ToNative(err)
	text := link.Bounded(native.Error())
	for _, kind := range []error{
		errdefs.ErrNotFound, errdefs.ErrAlreadyExists, errdefs.ErrFailedPrecondition, errdefs.ErrInvalidArgument,
		errdefs.ErrNotImplemented, errdefs.ErrUnavailable, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(native, kind) {
			return errgrpc.ToGRPC(fmt.Errorf("in the guest: %s: %w", text, kind))
		}
	}

	return errgrpc.ToGRPC(errors.New("in the guest: " + text))
}
