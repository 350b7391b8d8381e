package shim

import (
	"context"
	"fmt"

	"github.com/containerd/cgroups/v3"
	"github.com/containerd/cgroups/v3/cgroup1"
	"github.com/containerd/cgroups/v3/cgroup2"
	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/typeurl/v2"
)

// Stats says what a container uses in the guest, or the machine on the host.
func (s *service) Stats(ctx context.Context, r *taskapi.StatsRequest) (*taskapi.StatsResponse, error) {
	m, err := s.running()
	if err != nil {
		return nil, err
	}
	if m.id != r.GetID() {
		return toContainer(ctx, s, r, taskapi.TTRPCTaskService.Stats)
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
