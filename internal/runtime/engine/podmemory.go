package engine

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"mullion.dev/mullion/internal/base/cgroup"
)

// A container's memory is not always free when the container has ended: a file in memory lives as long as somebody has
// it open, and a container can hand open files to the others of its pod, by a socket in a volume. Such memory counts
// for no container any more, but for the pod. So a pod has a limit too: what those of its containers that run may use
// together, as on Linux nodes (kubelets' cgroups of pods). Each start of a container sets it anew.

// limitPodMemory limits the memory of the pod of a container that has been made, or runs. A pod of which a container
// has no limit has none; nor has a container that belongs to no pod one more. Where the kernel does not count memory,
// the cluster has said so in its log.
func (e *Engine) limitPodMemory(ctx context.Context, id string) error {
	spec, err := e.specOf(ctx, id)
	if err != nil {
		return err
	}
	pod := path.Dir(spec.Linux.CgroupsPath)
	if pod == path.Clean(e.opts.CgroupParent) {
		return nil
	}

	// The later of two sums is the one that holds: a sum without a container that has just begun would end its pod.
	e.podMemory.Lock()
	defer e.podMemory.Unlock()
	// A pause container is called as its pod, and the pod's manifest gives it no limit.
	err = cgroup.LimitMemoryToChildren(pod, overhead)
	if errors.Is(err, cgroup.ErrNoController) || errors.Is(err, fs.ErrNotExist) { // a pod that has gone holds nothing
		return nil
	}
	return err
}
