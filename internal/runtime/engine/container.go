package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	typesapi "github.com/containerd/containerd/api/types"
	taskapi "github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/typeurl/v2"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/windows/wine"
)

// ErrNotWindowsImage says that an image holds no C: drive.
var ErrNotWindowsImage = fmt.Errorf("image has no folder %q, so it is not a Windows image", drive)

// State is where a container is in its life.
type State string

// The states. A container whose task has been deleted is Created again, because containerd knows no task of it.
const (
	Created State = "created"
	Running State = "running"
	Exited  State = "exited"
)

// Info is what containerd knows of a container.
type Info struct {
	ID     string
	Labels map[string]string
	State  State
	PID    uint32
}

// Create makes the container's snapshot and record. If it returns an error, nothing is left behind.
func (e *Engine) Create(ctx context.Context, c Container) error {
	ctx = e.with(ctx)
	if err := e.limitPod(c.Pod); err != nil {
		return err
	}
	// A container's snapshot must not be collected before its record refers to it.
	ctx, release, err := e.client.WithLease(ctx)
	if err != nil {
		return fmt.Errorf("lease snapshot of container %q: %w", c.ID, err)
	}

	defer func() { _ = release(context.WithoutCancel(ctx)) }()
	var undo cleanup.Stack
	defer func() { _ = undo.Clean() }()

	mounts, err := e.snapshotOf(ctx, &c, &undo)
	if err != nil {
		return err
	}
	if c.Ephemeral {
		c.addLabels(map[string]string{labelEphemeral: ""})
	}

	k := e.kindOf(c)
	targets, err := k.prepare(&c, mounts)
	if err != nil {
		return fmt.Errorf("prepare file system of container %q: %w", c.ID, err)
	}

	undo.Add(func() error { return e.removeTraces(c.ID) })
	sources, err := e.bindMapped(&c)
	if err != nil {
		return err
	}

	undo.Add(func() error { return e.removeSources(c.ID) })
	spec := e.spec(c, sources, targets)
	runtime, err := k.finish(&c, spec)
	if err != nil {
		return err
	}

	_, err = e.client.NewContainer(ctx, c.ID, append(e.snapshotOptions(c),
		client.WithContainerLabels(c.Labels),
		client.WithRuntime(runtime, e.runtimeOptions(e.owner(c))),
		client.WithSpec(spec))...)
	if err != nil {
		return fmt.Errorf("create container %q: %w", c.ID, err)
	}
	undo.Release()
	return nil
}

// limitPod makes a pod's cgroup, with the limits of processes and of sockets' memory that all containers of the pod
// share. Where the kernel does not count processes, the cluster has said so in its log.
func (e *Engine) limitPod(pod string) error {
	if pod == "" {
		return nil
	}
	err := cgroup.LimitTasks(path.Join(e.opts.CgroupParent, pod), mostTasks)
	if err != nil && !errors.Is(err, cgroup.ErrNoController) {
		return err
	}
	return e.limitPodSockets(pod)
}

// RemovePod removes what the containers of a pod shared and is called when they are removed. A pod that is gone is no
// error.
func (e *Engine) RemovePod(pod string) error {
	if err := e.removePodTraces(pod); err != nil {
		return err
	}
	return cgroup.Remove(path.Join(e.opts.CgroupParent, pod))
}

// owner returns the id on the machine of the container's user, as its programs have it.
func (e *Engine) owner(c Container) uint32 { return e.kindOf(c).owner(c) }

// nameServerFolder lets several of a container's programs start at once.
func nameServerFolder(upper string, uid int) error {
	root, err := os.OpenRoot(upper)
	if err != nil {
		return err
	}
	defer root.Close()
	return wine.NameServerFolder(root, uid)
}

// prepareUpper gives the snapshot's root to the container's user and makes the targets of its mounts. It returns them.
func (e *Engine) prepareUpper(c Container, mounts []mount.Mount) ([]string, error) {
	o, err := overlayOf(mounts)
	if err != nil {
		return nil, err
	}
	// An image without layers of its own is a bare Windows: the system layers are all of it.
	if len(o.lower) > 0 && !hasDrive(o.lower) {
		return nil, ErrNotWindowsImage
	}

	uid := int(e.diskID(c.UID))
	if err := os.Lchown(o.upper, uid, uid); err != nil {
		return nil, fmt.Errorf("give %q to the container's user: %w", o.upper, err)
	}
	if c.Scratch != "" {
		if err := giveFiles(o.upper, int(e.diskID(0))); err != nil {
			return nil, fmt.Errorf("give the host's files to the container: %w", err)
		}
	}

	user := cmp.Or(c.Account, UserName(c.UID))
	var problems []error
	if !hasRegistry(c, o.upper, wine.MachineHive) {
		if problems, err = e.applyHives(o.upper, o.lower, user, uid); err != nil {
			return nil, err
		}
	}

	for _, problem := range problems {
		e.opts.Log.Warn("registry changes of an image not all applied", "container", c.ID, "error", problem)
	}

	if err := nameServerFolder(o.upper, uid); err != nil {
		return nil, err
	}
	layers := append(append([]string{o.upper}, o.lower...), e.opts.SystemLayers...)
	if err := e.makeProfile(o.upper, layers, c.Account, uid); err != nil {
		return nil, err
	}

	for _, volume := range c.Volumes {
		t, err := resolveTarget(layers, volume)
		if err == nil {
			err = e.makeVolume(o.upper, t, uid)
		}
		if err != nil {
			return nil, fmt.Errorf("make the image's volume: %w", err)
		}
	}

	return e.makeTargets(c, o.upper, layers, uid)
}

// makeTargets makes the places for what a container mounts, and returns them.
func (e *Engine) makeTargets(c Container, upper string, layers []string, uid int) ([]string, error) {
	targets := make([]string, len(c.Mounts))
	for i, m := range c.Mounts {
		info, err := m.Source.Stat()
		if err != nil {
			return nil, fmt.Errorf("look at mount source: %w", err)
		}
		t, err := resolveTarget(layers, m.Target)
		if err != nil {
			return nil, err
		}

		if err := e.makeTarget(upper, t, info.IsDir(), uid); err != nil {
			return nil, err
		}
		targets[i] = t.Path()
	}

	return targets, nil
}

// makeProfile makes the folders of an account of the image, which Windows makes at its first logon.
func (e *Engine) makeProfile(upper string, layers []string, account string, uid int) error {
	if account == "" {
		return nil
	}
	for _, folder := range []string{`AppData\Local\Temp`, `AppData\Roaming`} {
		t, err := resolveTarget(layers, `C:\Users\`+account+`\`+folder)
		if err != nil {
			return err
		}
		if err := e.makeTarget(upper, t, true, uid); err != nil {
			return err
		}
	}
	return nil
}

func hasDrive(layers []string) bool {
	for _, l := range layers {
		if info, err := os.Lstat(filepath.Join(l, drive)); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

// overlay is an overlay mount taken apart.
type overlay struct {
	upper, work string
	lower, rest []string
}

func overlayOf(mounts []mount.Mount) (overlay, error) {
	if len(mounts) == 1 && mounts[0].Type == "bind" {
		// A snapshot without a parent is bound, not overlaid, but has a work folder all the same.
		upper := mounts[0].Source
		return overlay{upper: upper, work: filepath.Join(filepath.Dir(upper), "work")}, nil
	}
	if len(mounts) != 1 || mounts[0].Type != "overlay" {
		return overlay{}, fmt.Errorf("snapshot is not one overlay but %v: %w", mounts, errdefs.ErrNotImplemented)
	}

	var o overlay
	for _, option := range mounts[0].Options {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "lowerdir":
			o.lower = strings.Split(value, ":")
		case "upperdir":
			o.upper = value
		case "workdir":
			o.work = value
		default:
			o.rest = append(o.rest, option)
		}
	}

	return o, nil
}

// rootfs returns the mount of a container's root file system: the snapshot's overlay with the system layers below it,
// all through views with the ids of the container, run.
func (e *Engine) rootfs(ctx context.Context, id string, run IDRange, views *containerViews) (*typesapi.Mount, error) {
	o, err := e.layersOf(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := o.mountAgain(); err != nil {
		return nil, fmt.Errorf("take the mark of an earlier mount from container %q: %w", id, err)
	}

	var lower []string
	for _, l := range o.lower {
		view, err := e.lowerView(l, run, views)
		if err != nil {
			return nil, err
		}
		lower = append(lower, view)
	}

	for _, l := range e.opts.SystemLayers {
		view, err := views.of(l, layerMapping(run), unix.MOUNT_ATTR_RDONLY)
		if err != nil {
			return nil, err
		}
		lower = append(lower, view)
	}

	own, err := views.of(filepath.Dir(o.upper), e.diskMapping(run), 0) // with the work folder, in one mount
	if err != nil {
		return nil, err
	}
	options := append(o.rest, "workdir="+filepath.Join(own, filepath.Base(o.work)),
		"upperdir="+filepath.Join(own, filepath.Base(o.upper)), "lowerdir="+strings.Join(lower, ":"))
	return &typesapi.Mount{
		Type:    "overlay",
		Source:  "overlay",
		Options: options,
	}, nil
}

// IO are the FIFOs of a task's standard streams; empty ones are not connected.
type IO struct {
	Stdin, Stdout, Stderr string
	Terminal              bool
}

// Start starts PID 1 of a created container and returns its process id on the machine. If it returns an error the
// container is as before.
func (e *Engine) Start(ctx context.Context, id string, stdio IO) (uint32, error) {
	ctx = e.with(ctx)
	k, err := e.kindIn(ctx, id)
	if err != nil {
		return 0, err
	}
	created, err := e.createTask(ctx, k, id, stdio)
	if err != nil {
		return 0, err
	}

	tasks := e.client.TaskService()
	// The container's mounts are made.
	if err := e.removeSources(id); err != nil {
		e.opts.Log.Error("binds of container not removed", "container", id, "error", err)
	}

	err = k.limit(ctx, id, created.Pid)
	var started *tasksapi.StartResponse
	if err == nil {
		started, err = tasks.Start(ctx, &tasksapi.StartRequest{ContainerID: id})
	}
	if err != nil {
		return 0, errors.Join(fmt.Errorf("start task of container %q: %w", id, errgrpc.ToNative(err)),
			e.deleteTask(context.WithoutCancel(ctx), id))
	}

	return started.Pid, nil
}

// createTask has runc make a container, whose PID 1 waits for its start.
func (e *Engine) createTask(ctx context.Context, k kind, id string, stdio IO,
) (_ *tasksapi.CreateTaskResponse, err error) {
	views := e.layers.forContainer()
	defer func() { err = errors.Join(err, views.remove()) }()
	rootfs, err := k.rootfs(ctx, id, views)
	if err != nil {
		return nil, err
	}

	created, err := e.client.TaskService().Create(ctx, &tasksapi.CreateTaskRequest{
		ContainerID: id,
		Rootfs:      []*typesapi.Mount{rootfs},
		Stdin:       stdio.Stdin,
		Stdout:      stdio.Stdout,
		Stderr:      stdio.Stderr,
		Terminal:    stdio.Terminal,
	})
	if err != nil {
		return nil, fmt.Errorf("create task of container %q: %w", id, errgrpc.ToNative(err))
	}

	return created, nil
}

// specOf returns the OCI specification that a container was made with.
func (e *Engine) specOf(ctx context.Context, id string) (*specs.Spec, error) {
	record, err := e.client.ContainerService().Get(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("look at container %q: %w", id, err)
	}
	var spec specs.Spec
	if err := typeurl.UnmarshalTo(record.Spec, &spec); err != nil {
		return nil, fmt.Errorf("read specification of container %q: %w", id, err)
	}
	return &spec, nil
}

// Remove kills what runs in the container and removes its task, record and snapshot. A container that is gone is no
// error.
func (e *Engine) Remove(ctx context.Context, id string) error {
	ctx = e.with(ctx)
	if err := e.killTask(ctx, id); err != nil {
		return err
	}
	if err := errors.Join(e.removeTraces(id), e.removeSources(id)); err != nil {
		return err
	}

	if err := e.client.ContainerService().Delete(ctx, id); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("delete container %q: %w", id, err)
	}
	if err := e.client.SnapshotService(e.opts.Snapshotter).Remove(ctx, id); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove snapshot of container %q: %w", id, err)
	}
	return nil
}

// killTask kills the container's processes, waits for the end of PID 1 and deletes the task.
func (e *Engine) killTask(ctx context.Context, id string) error {
	tasks := e.client.TaskService()
	got, err := tasks.Get(ctx, &tasksapi.GetRequest{ContainerID: id})
	if errdefs.IsNotFound(errgrpc.ToNative(err)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at task of container %q: %w", id, errgrpc.ToNative(err))
	}

	if got.Process.Status != taskapi.Status_STOPPED {
		_, err := tasks.Kill(ctx, &tasksapi.KillRequest{
			ContainerID: id,
			Signal:      9,
			All:         true,
		})
		if err != nil && !errdefs.IsNotFound(errgrpc.ToNative(err)) {
			return fmt.Errorf("kill task of container %q: %w", id, errgrpc.ToNative(err))
		}

		waitCtx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()

		if _, err := tasks.Wait(waitCtx, &tasksapi.WaitRequest{ContainerID: id}); err != nil &&
			!errdefs.IsNotFound(errgrpc.ToNative(err)) {
			return fmt.Errorf("wait for end of container %q: %w", id, errgrpc.ToNative(err))
		}
	}

	return e.deleteTask(ctx, id)
}

func (e *Engine) deleteTask(ctx context.Context, id string) error {
	_, err := e.client.TaskService().Delete(ctx, &tasksapi.DeleteTaskRequest{ContainerID: id})
	if err != nil && !errdefs.IsNotFound(errgrpc.ToNative(err)) {
		return fmt.Errorf("delete task of container %q: %w", id, errgrpc.ToNative(err))
	}
	return nil
}

// List returns the containers that have the label key=value.
func (e *Engine) List(ctx context.Context, key, value string) ([]Info, error) {
	ctx = e.with(ctx)
	records, err := e.client.ContainerService().List(ctx, fmt.Sprintf("labels.%q==%q", key, value))
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}

	var out []Info
	for _, r := range records {
		info := Info{
			ID:     r.ID,
			Labels: r.Labels,
			State:  Created,
		}

		got, err := e.client.TaskService().Get(ctx, &tasksapi.GetRequest{ContainerID: r.ID})
		err = errgrpc.ToNative(err)
		switch {
		case errdefs.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("look at task of container %q: %w", r.ID, err)
		default:
			info.PID = got.Process.Pid
			switch got.Process.Status {
			case taskapi.Status_STOPPED:
				info.State = Exited
			case taskapi.Status_CREATED:
			default:
				info.State = Running
			}
		}

		out = append(out, info)
	}

	return out, nil
}
