package engine

import (
	"context"

	typesapi "github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/v2/core/mount"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Kind is what makes a container another than an ordinary one: a *HostProcess or an InMachine.
type Kind interface {
	// in is the kind as an engine runs it.
	in(e *Engine) kind
}

// kind is what a container is made of: of the machine's kernel, of a Windows host, of a virtual machine. Each kind has
// a file, kind_<name>.go, and nothing outside these files asks of what kind a container is. Who makes a container says
// the kind; of one that containerd has, it is read from what was left there.
type kind interface {
	making
	identity
	running
}

// making is how a container of the kind is made.
type making interface {
	// prepare makes the container's files ready and returns where runc is to mount its mounts.
	prepare(c *Container, mounts []mount.Mount) ([]string, error)
	// memoryMounts are those by which the container's programs see the node's memory.
	memoryMounts() []BindMount
	// adapt turns the specification of an ordinary container into that of the kind.
	adapt(c Container, s *specs.Spec)
	// finish does what is left when the files and the specification are there, and returns containerd's runtime.
	finish(c *Container, s *specs.Spec) (runtime string, err error)
}

// identity is which users a container's programs have on the machine, and what they may do there.
type identity interface {
	// ids is their range.
	ids(c Container) IDRange
	// owner is the id of the container's user.
	owner(c Container) uint32
	// user is as whom a program with an id in the container runs, and which rights it leaves to others' files.
	user(id uint32) specs.User
	// capabilities are those of the container's programs.
	capabilities() *specs.LinuxCapabilities
}

// running is how a container of the kind runs.
type running interface {
	// rootfs is the container's root file system.
	rootfs(ctx context.Context, id string, views *containerViews) (*typesapi.Mount, error)
	// limit sets the limits of a container that is made and not started, whose first process is pid.
	limit(ctx context.Context, id string, pid uint32) error
	// limitsChanged sets what follows from the limits of a container, when these have changed.
	limitsChanged(ctx context.Context, id string) error
	// killExec kills a program of an exec with all that it has started, and returns how many processes these were.
	killExec(ctx context.Context, id, exec string) (int, error)
}

// trace is what a kind leaves beside its containers, by which one that containerd has is known.
type trace struct {
	// find returns the kind of a container, nil if it is another one.
	find func(ctx context.Context, id string) (kind, error)
	// remove removes what prepare has made for a container, and removePod what the containers of a pod shared. What is
	// not there is no error. They may be nil.
	remove, removePod func(id string) error
}

// traces returns the traces of all kinds but the ordinary one, which leaves none. A further kind has a line here and a
// file of its own.
func (e *Engine) traces() []trace { return []trace{e.hostProcessTrace(), e.machineTrace()} }

// kindOf returns the kind of a container that is to be made.
func (e *Engine) kindOf(c Container) kind {
	if c.Kind == nil {
		return process{e}
	}
	return c.Kind.in(e)
}

// kindIn returns the kind of a container that containerd has.
func (e *Engine) kindIn(ctx context.Context, id string) (kind, error) {
	for _, t := range e.traces() {
		if k, err := t.find(ctx, id); k != nil || err != nil {
			return k, err
		}
	}
	return process{e}, nil
}

// removeTraces removes what a container has left, of whatever kind it was.
func (e *Engine) removeTraces(id string) error {
	for _, t := range e.traces() {
		if t.remove == nil {
			continue
		}
		if err := t.remove(id); err != nil {
			return err
		}
	}
	return nil
}

// removePodTraces removes what the containers of a pod shared, of whatever kind they were.
func (e *Engine) removePodTraces(pod string) error {
	for _, t := range e.traces() {
		if t.removePod == nil {
			continue
		}
		if err := t.removePod(pod); err != nil {
			return err
		}
	}
	return nil
}
