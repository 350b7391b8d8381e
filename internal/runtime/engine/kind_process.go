package engine

import (
	"cmp"
	"context"
	"errors"

	typesapi "github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/v2/core/mount"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"mullion.dev/mullion/internal/runtime/userns"
	"mullion.dev/mullion/internal/runtime/vm/link"
)

// process is the ordinary kind of container: its programs run on the machine's kernel, with users of their pod's own.
type process struct{ e *Engine }

func (p process) prepare(c *Container, mounts []mount.Mount) ([]string, error) {
	return p.e.prepareUpper(*c, mounts)
}

func (p process) memoryMounts() []BindMount { return p.e.opts.MemoryMounts }

func (process) adapt(Container, *specs.Spec) {}

func (p process) finish(c *Container, _ *specs.Spec) (runtime string, err error) {
	return Runtime, p.e.giveWorkDir(*c)
}

// ids returns the pod's ids. A container that mounts what cannot be mounted with other ids has those that are on disk.
func (p process) ids(c Container) IDRange {
	if c.DiskIDs {
		return p.e.opts.IDs
	}
	return podRange(cmp.Or(c.Pod, c.ID))
}

func (p process) owner(c Container) uint32 { return p.e.runIDs(c).Base + c.UID }

func (process) user(id uint32) specs.User { return specs.User{UID: id, GID: id} }

func (process) capabilities() *specs.LinuxCapabilities { return &specs.LinuxCapabilities{} }

func (p process) rootfs(ctx context.Context, id string, views *containerViews) (*typesapi.Mount, error) {
	s, err := p.e.specOf(ctx, id)
	if err != nil {
		return nil, err
	}
	run := s.Linux.UIDMappings[0]
	return p.e.rootfs(ctx, id, IDRange{Base: run.HostID, Size: run.Size}, views)
}

func (p process) limit(ctx context.Context, id string, pid uint32) error {
	return errors.Join(userns.Limit(ctx, pid), p.e.limitSocketsOf(ctx, id), p.e.limitPodMemory(ctx, id))
}

func (p process) limitsChanged(ctx context.Context, id string) error {
	return p.e.limitPodMemory(ctx, id)
}

// killExec finds the processes by link.ExecMarker, because a Windows process is, on Linux, no child of the process that
// started it.
func (p process) killExec(ctx context.Context, id, exec string) (int, error) {
	return p.e.killMarked(ctx, id, link.ExecMarker+exec)
}
