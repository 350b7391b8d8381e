// Package linuxrun owns the containers in which the commands of a Dockerfile's stages for Linux run: a client of
// containerd that unpacks a stage's layers, runs a command in a runc container over them, and writes the layer of what
// the command has changed.
//
//	layers ─▶ snapshots ─▶ container of runc ─▶ (the command ends) ─▶ layer
//
// A container has the users of a namespace of its own: its root is nobody on the machine. The files of its layers are
// unpacked with those users, and a layer that is written has the container's again. Snapshots of layers stay for a day,
// so that the next command need not unpack them.
//
// It does not own Windows containers (package engine), where layers come from (package buildcache), networks, nor what
// a Dockerfile says.
package linuxrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	runcoptions "github.com/containerd/containerd/api/types/runc/options"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/userns"
)

// Owner is the user and the group of the machine that are root's in a container.
const Owner = userns.LinuxBuilds

// users is how many users a container has, from 0.
const users = userns.LinuxBuildUsers

// Label is the label of the containers, by which an engine finds those that an earlier one has left.
const Label = "mullion.dev/linux-build"

// Runner runs commands.
type Runner struct {
	Client *containerd.Client
	// Snapshotter is containerd's; "": overlayfs.
	Snapshotter string
	// CgroupParent is the cgroup below which each container has its own.
	CgroupParent string
	// State is a folder of runc's own.
	State string
}

// Layer is a layer of an image.
type Layer struct {
	// DiffID is the sum of its bytes before they were compressed.
	DiffID digest.Digest
	// Open opens those bytes.
	Open func() (io.ReadCloser, error)
}

// Command is a program in a container.
type Command struct {
	ID string
	// Layers are those below, the lowest first; at least one.
	Layers []Layer
	Args   []string
	Env    []string
	// Dir is the folder that it starts in, User its user as in USER: a name or a number, and maybe a group.
	Dir, User string
	Hostname  string
	// NetNS is the path of its network namespace.
	NetNS  string
	Mounts []Mount
	// Stdout and Stderr are FIFOs.
	Stdout, Stderr string
	// Began is called when the program runs; it may be nil.
	Began func()
}

// Mount is a folder or a file of the machine in a container.
type Mount struct {
	Source, Target string
	ReadOnly       bool
}

// Run runs a command until it has ended, and returns its exit code. If ctx ends before, it is killed. What it has
// written is there until Remove.
func (r *Runner) Run(ctx context.Context, c Command) (code uint32, err error) {
	top, err := r.unpacked(ctx, c.Layers)
	if err != nil {
		return 0, fmt.Errorf("unpack the layers below: %w", err)
	}
	made, err := r.create(ctx, c, top)
	if err != nil {
		return 0, err
	}

	task, err := made.NewTask(ctx, func(string) (cio.IO, error) { return streams{c}, nil })
	if err != nil {
		return 0, fmt.Errorf("make the container: %w", err)
	}
	ended, err := task.Wait(context.WithoutCancel(ctx))
	if err != nil {
		return 0, fmt.Errorf("wait for the command: %w", err)
	}

	if err := userns.Limit(ctx, task.Pid()); err != nil { // before the program begins
		return 0, err
	}
	if err := task.Start(ctx); err != nil {
		return 0, fmt.Errorf("start the command: %w", err)
	}
	if c.Began != nil {
		c.Began()
	}

	select {
	case end := <-ended:
		code, _, err = end.Result()
		return code, err
	case <-ctx.Done():
	}

	err = task.Kill(context.WithoutCancel(ctx), unix.SIGKILL, containerd.WithKillAll)
	if err == nil || errdefs.IsNotFound(err) {
		<-ended
	}
	return 0, errors.Join(context.Cause(ctx), err)
}

// create makes the record and the snapshot of a container over a snapshot.
func (r *Runner) create(ctx context.Context, c Command, top string) (containerd.Container, error) {
	ctx, release, err := r.Client.WithLease(ctx) // until the record names the snapshot
	if err != nil {
		return nil, err
	}
	defer func() { _ = release(context.WithoutCancel(ctx)) }()

	var undo cleanup.Stack
	defer func() { _ = undo.Clean() }()
	snapshots := r.snapshots()
	files, err := snapshots.Prepare(ctx, c.ID, top)
	if err != nil {
		return nil, fmt.Errorf("make the container's files: %w", err)
	}

	undo.Add(func() error { return snapshots.Remove(context.WithoutCancel(ctx), c.ID) })
	who, err := userOf(ctx, files, c.User)
	if err != nil {
		return nil, fmt.Errorf("find user %q: %w", c.User, err)
	}

	made, err := r.Client.NewContainer(ctx, c.ID,
		containerd.WithContainerLabels(map[string]string{Label: ""}),
		containerd.WithSnapshotter(r.snapshotter()),
		containerd.WithSnapshot(c.ID),
		containerd.WithRuntime(runtimeName, &runcoptions.Options{
			BinaryName: "runc",
			IoUid:      Owner,
			IoGid:      Owner,
			Root:       r.State,
		}),
		containerd.WithNewSpec(r.spec(c, who)...))
	if err != nil {
		return nil, fmt.Errorf("make the container: %w", err)
	}

	undo.Release()
	return made, nil
}

// runtimeName is containerd's name of runc.
const runtimeName = "io.containerd.runc.v2"

// mostTasks is how many processes and threads a command may have.
const mostTasks = 8192

// mostTerminals bounds the terminals of a command, which all containers of the machine have out of one stock.
const mostTerminals = "max=64"

// badness is how soon the kernel ends a command when the machine has no memory left: before what serves.
const badness = 500

// spec says what a container is: containerd's usual one, in a user namespace. There is no /sys, which only the owner of
// the network namespace mounts, and no memory at /run, which is the image's. A program may become another user, as sudo
// does: in the namespace that gives nothing of the machine.
func (r *Runner) spec(c Command, who *specs.User) []oci.SpecOpts {
	ids := []specs.LinuxIDMapping{{ContainerID: 0, HostID: Owner, Size: users}}
	mounts := make([]specs.Mount, 0, len(c.Mounts))
	for _, m := range c.Mounts {
		mode := "rw"
		if m.ReadOnly {
			mode = "ro"
		}

		mounts = append(mounts, specs.Mount{
			Destination: m.Target,
			Type:        "bind",
			Source:      m.Source,
			Options:     []string{"rbind", mode, "nosuid", "nodev", "rprivate"},
		})
	}

	return []oci.SpecOpts{
		oci.WithProcessArgs(c.Args...),
		oci.WithEnv(c.Env),
		oci.WithProcessCwd(c.Dir),
		oci.WithHostname(c.Hostname),
		oci.WithUserNamespace(ids, ids),
		oci.WithLinuxNamespace(specs.LinuxNamespace{Type: specs.NetworkNamespace, Path: c.NetNS}),
		oci.WithLinuxNamespace(specs.LinuxNamespace{Type: specs.CgroupNamespace}),
		oci.WithCgroup(path.Join(r.CgroupParent, c.ID)),
		oci.WithPidsLimit(mostTasks),
		oci.WithoutMounts("/sys", "/run"),
		oci.WithMounts(mounts),
		oci.WithNewPrivileges,
		seccomp.WithDefaultProfile(),
		func(_ context.Context, _ oci.Client, _ *containers.Container, s *oci.Spec) error {
			s.Process.User = *who
			// There are as many open files as containerd has, which a program of the namespace cannot raise.
			s.Process.Rlimits = userns.Rlimits(mostTasks)
			for i, m := range s.Mounts {
				if m.Type == "devpts" {
					s.Mounts[i].Options = append(slices.Clone(m.Options), mostTerminals)
				}
			}
			score := badness
			s.Process.OOMScoreAdj = &score
			return nil
		},
	}
}

// streams are a command's outputs, which others read.
type streams struct{ of Command }

// Config implements cio.IO.
func (s streams) Config() cio.Config { return cio.Config{Stdout: s.of.Stdout, Stderr: s.of.Stderr} }

// Cancel, Wait and Close implement cio.IO: nothing is copied here.
func (streams) Cancel() {}

// Wait implements cio.IO.
func (streams) Wait() {}

// Close implements cio.IO.
func (streams) Close() error { return nil }

// Remove ends a container, and removes it with what it has written. One that is gone is no error.
func (r *Runner) Remove(ctx context.Context, id string) error {
	made, err := r.Client.LoadContainer(ctx, id)
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove container %q: %w", id, err)
	}

	if err == nil {
		if err := removeTask(ctx, made); err != nil {
			return fmt.Errorf("remove container %q: %w", id, err)
		}
		if err := made.Delete(ctx); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("remove container %q: %w", id, err)
		}
	}

	if err := r.snapshots().Remove(ctx, id); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove files of container %q: %w", id, err)
	}
	return nil
}

func removeTask(ctx context.Context, of containerd.Container) error {
	task, err := of.Task(ctx, nil)
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = task.Delete(ctx, containerd.WithProcessKill)
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// Clear removes the containers that an earlier runner has left.
func (r *Runner) Clear(ctx context.Context) error {
	left, err := r.Client.Containers(ctx, fmt.Sprintf("labels.%q", Label))
	if err != nil {
		return err
	}
	for _, c := range left {
		if err := r.Remove(ctx, c.ID()); err != nil {
			return err
		}
	}
	return nil
}

// kept is how long the snapshots of layers stay after their last use.
const kept = 24 * time.Hour

// lease keeps for a while what is made by the context.
func (r *Runner) lease(ctx context.Context) (context.Context, leases.Lease, error) {
	l, err := r.Client.LeasesService().Create(ctx, leases.WithRandomID(), leases.WithExpiration(kept))
	if err != nil {
		return ctx, l, err
	}
	return leases.WithLease(ctx, l.ID), l, nil
}
