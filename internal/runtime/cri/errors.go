package cri

import (
	"context"
	"errors"

	"github.com/containerd/errdefs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// coded returns err as a gRPC status. The kubelet tells NotFound from other errors
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/cri-api/pkg/errors/errors.go), people
// read the text.
func coded(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}

	code := codes.Unknown
	for _, c := range []struct {
		is   error
		code codes.Code
	}{
		{store.ErrNotFound, codes.NotFound},
		{errdefs.ErrNotFound, codes.NotFound},
		{errdefs.ErrInvalidArgument, codes.InvalidArgument},
		{errdefs.ErrAlreadyExists, codes.AlreadyExists},
		{errdefs.ErrFailedPrecondition, codes.FailedPrecondition},
		{errdefs.ErrUnavailable, codes.Unavailable},
		{errdefs.ErrResourceExhausted, codes.ResourceExhausted},
		{errdefs.ErrNotImplemented, codes.Unimplemented},
		{context.Canceled, codes.Canceled},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
	} {
		if errors.Is(err, c.is) {
			code = c.code
			break
		}
	}

	return status.Error(code, err.Error())
}
