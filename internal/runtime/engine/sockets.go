package engine

import (
	"context"
	"errors"
	"path"

	"mullion.dev/mullion/internal/base/cgroup"
)

// What sockets hold is the kernel's memory, which cgroup v1 does not count with a container's: bytes that a program
// sends to itself over the loopback and never reads would take what the sockets of all the machine have, and
// connections of the machine's own were reset.

// podSockets is the part of what the machine's sockets may hold that those of one pod may.
const podSockets = 4

// socketLimit returns how many bytes the sockets of a container may hold, that may have so much memory; 0 or less:
// without a limit. It is no more than its pod's. all is what those of the machine may.
func socketLimit(all, memory int64) int64 {
	if pod := all / podSockets; memory <= 0 || memory > pod {
		return pod
	}
	return memory
}

// limitPodSockets limits those of a pod's containers together.
func (e *Engine) limitPodSockets(pod string) error {
	return limitSockets(path.Join(e.opts.CgroupParent, pod), 0)
}

// limitSocketsOf limits those of a container that has been made and not been started.
func (e *Engine) limitSocketsOf(ctx context.Context, id string) error {
	spec, err := e.specOf(ctx, id)
	if err != nil {
		return err
	}
	return limitSockets(spec.Linux.CgroupsPath, *spec.Linux.Resources.Memory.Limit)
}

// limitSockets limits the sockets of a cgroup that may hold so much memory. Where the kernel does not count memory, the
// cluster has said so in its log.
func limitSockets(name string, memory int64) error {
	all, err := cgroup.SocketMemory()
	if err != nil {
		return err
	}
	err = cgroup.LimitSockets(name, socketLimit(all, memory))
	if errors.Is(err, cgroup.ErrNoController) {
		return nil
	}
	return err
}
