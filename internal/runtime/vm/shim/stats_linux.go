package shim

import (
	"context"
	"fmt"

	"github.com/containerd/cgroups/v3"
	"github.com/containerd/cgroups/v3/cgroup1"
	"github.com/containerd/cgroups/v3/cgroup2"
	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/typeurl/v2"
	"google.golang.org/protobuf/types/known/anypb"
)

// Stats says what a container uses in the guest, or the machine on the host.
func (s *service) Stats(ctx context.Context, r *taskapi.StatsRequest) (*taskapi.StatsResponse, error) {
	m, err := s.running()
	if err != nil {
		return nil, err
	}
	if m.id != r.GetID() {
		return s.containerStats(ctx, r)
	}

	used, err := usage(m.spec.Cgroup)
	if err != nil {
		return nil, errgrpc.ToGRPC(fmt.Errorf("measure the machine: %w", err))
	}
	encoded, err := typeurl.MarshalAnyToProto(used)
	if err != nil {
		return nil, errgrpc.ToGRPC(err)
	}

	return &taskapi.StatsResponse{Stats: encoded}, nil
}

// mostStats is more than figures of a container take, in bytes.
const mostStats = 64 << 10

// containerStats returns the guest's figures of a container, and nothing else that it may say.
func (s *service) containerStats(ctx context.Context, r *taskapi.StatsRequest) (*taskapi.StatsResponse, error) {
	m, _, err := s.find(r.GetID())
	if err != nil {
		return nil, err
	}
	answer, err := forward(ctx, m, m.tasks.Stats, r)
	if err != nil {
		return nil, err
	}

	said := answer.GetStats()
	if len(said.GetTypeUrl()) > mostStats || len(said.GetValue()) > mostStats {
		return nil, errgrpc.ToGRPC(fmt.Errorf("measure container %q: the guest says more than %d bytes: %w", r.GetID(),
			mostStats, errdefs.ErrFailedPrecondition))
	}

	return &taskapi.StatsResponse{Stats: &anypb.Any{TypeUrl: said.GetTypeUrl(), Value: said.GetValue()}}, nil
}

func usage(cgroup string) (any, error) {
	if cgroups.Mode() == cgroups.Unified {
		c, err := cgroup2.Load(cgroup)
		if err != nil {
			return nil, err
		}
		return c.Stat()
	}

	c, err := cgroup1.Load(cgroup1.StaticPath(cgroup))
	if err != nil {
		return nil, err
	}
	return c.Stat(cgroup1.IgnoreNotExist)
}
