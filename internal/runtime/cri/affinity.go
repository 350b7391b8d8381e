package cri

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"strconv"
	"time"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/cpuset"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
)

// groupSize is how many processors a processor group of Windows has at most; the kubelet counts the processors of each
// group from a multiple of it (https://learn.microsoft.com/windows/win32/procthread/processor-groups).
const groupSize = 64

// cpusOf returns the machine's processors behind those of masks, none without any. Wine numbers processors as the
// kernel does.
func (s *Server) cpusOf(groups []*runtimeapi.WindowsCpuGroupAffinity) cpuset.CPUSet {
	var cpus []int
	for _, g := range groups {
		first := int(g.GetCpuGroup()) * groupSize
		for mask := g.GetCpuMask(); mask != 0; mask &= mask - 1 {
			cpu := first + bits.TrailingZeros64(mask)
			if s.cfg.Processors > 0 {
				cpu %= runtime.NumCPU()
			}
			cpus = append(cpus, cpu)
		}
	}
	return cpuset.New(cpus...)
}

// firstGroup returns the mask of those of cpus that are in the first group.
func firstGroup(cpus cpuset.CPUSet) (mask uint64) {
	for _, cpu := range cpus.UnsortedList() {
		if cpu < groupSize {
			mask |= 1 << cpu
		}
	}
	return mask
}

// spreadTimeout is how long wineserver may take to give its processes other processors.
const spreadTimeout = 10 * time.Second

// spreadAffinity tells the Windows of a running container which processors it has now, if they are others than before:
// the kernel keeps programs to them by then, but wineserver answers for itself. Wine knows one group of processors.
func (s *Server) spreadAffinity(ctx context.Context, c store.Container, r *runtimeapi.WindowsContainerResources) error {
	before, after := s.cpusOf(c.Config.GetWindows().GetResources().GetAffinityCpus()), s.cpusOf(r.GetAffinityCpus())
	mask := firstGroup(after)
	if c.State() != runtimeapi.ContainerState_CONTAINER_RUNNING || s.cfg.Launch.Run == "" ||
		before.Equals(after) || mask == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, spreadTimeout)
	defer cancel()

	args := append([]string{}, s.cfg.Launch.Loader...)
	exit, err := s.cfg.Engine.Exec(ctx, c.ID, engine.ExecSpec{
		ID:      newID()[:16],
		UID:     s.uidOf(c),
		Dir:     s.driveOf(c),
		Env:     s.loaderEnv(c),
		FIFODir: s.fifoDir(),
		Args:    append(args, s.cfg.Launch.Run, "--affinity", strconv.FormatUint(mask, 10)),
	})
	switch {
	case errdefs.IsNotFound(err): // it has ended meanwhile
		return nil
	case err != nil:
		return err
	case exit.Code != 0:
		return fmt.Errorf("its programs were not given other processors: exit code %d", exit.Code)
	}

	return nil
}

// groupMask returns what masks say of one group.
func groupMask(groups []*runtimeapi.WindowsCpuGroupAffinity, group uint32) (mask uint64) {
	for _, g := range groups {
		if g.GetCpuGroup() == group {
			mask |= g.GetCpuMask()
		}
	}
	return mask
}
