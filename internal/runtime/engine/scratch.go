package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cleanup"
)

// A container with a scratch has its layers as folders of the machine, and none of containerd's snapshots. The folders
// are open, as mounts' sources are: they are bound beside the binds of those, and the overlay is made of the binds.

const (
	labelScratch = "mullion.dev/scratch"
	labelLayers  = "mullion.dev/layers"
)

// labelEphemeral marks a container whose own layer need not reach the disk.
const labelEphemeral = "mullion.dev/ephemeral"

// layersDir returns the folder of the binds of a container's layers. It is not that of its mounts, which are bound anew
// if they cannot be mapped.
func (e *Engine) layersDir(id string) string { return e.sourceDir(id + ".layers") }

// layerBind returns the place of the i-th layer of a container, from the top.
func (e *Engine) layerBind(id string, i int) string {
	return filepath.Join(e.layersDir(id), strconv.Itoa(i))
}

// snapshotOf makes what a container writes to, and returns the overlay of that over the container's layers.
func (e *Engine) snapshotOf(ctx context.Context, c *Container, undo *cleanup.Stack) ([]mount.Mount, error) {
	if c.Scratch != "" {
		undo.Add(func() error { return e.removeSources(c.ID) })
		return e.bindLayers(c)
	}
	snapshots := e.client.SnapshotService(e.opts.Snapshotter)
	mounts, err := snapshots.Prepare(ctx, c.ID, c.ChainID)
	if err != nil {
		return nil, fmt.Errorf("prepare snapshot of container %q: %w", c.ID, err)
	}
	undo.Add(func() error { return snapshots.Remove(context.WithoutCancel(ctx), c.ID) })
	return mounts, nil
}

// bindLayers binds the layers of a container with a scratch, and labels it.
func (e *Engine) bindLayers(c *Container) ([]mount.Mount, error) {
	if err := os.MkdirAll(e.layersDir(c.ID), 0o700); err != nil {
		return nil, fmt.Errorf("make folder of layers: %w", err)
	}
	for i, layer := range c.Layers {
		if _, err := bindSource(layer, e.layerBind(c.ID, i), nil); err != nil {
			return nil, fmt.Errorf("bind layer of container %q: %w", c.ID, err)
		}
	}
	c.addLabels(map[string]string{labelScratch: c.Scratch, labelLayers: strconv.Itoa(len(c.Layers))})
	return []mount.Mount{e.scratchMount(c.ID, c.Scratch, len(c.Layers))}, nil
}

// scratchMount returns the overlay of a scratch, as containerd's snapshotter would describe it.
func (e *Engine) scratchMount(id, scratch string, layers int) mount.Mount {
	var lower []string
	for i := range layers {
		lower = append(lower, e.layerBind(id, i))
	}
	return mount.Mount{Type: "overlay", Source: "overlay", Options: []string{
		"workdir=" + filepath.Join(scratch, "work"), "upperdir=" + filepath.Join(scratch, "fs"),
		"lowerdir=" + strings.Join(lower, ":"), "redirect_dir=off",
	}}
}

// snapshotOptions returns the options by which containerd knows a container's snapshot, if it has one.
func (e *Engine) snapshotOptions(c Container) []client.NewContainerOpts {
	if c.Scratch != "" {
		return nil
	}
	return []client.NewContainerOpts{client.WithSnapshotter(e.opts.Snapshotter), client.WithSnapshot(c.ID)}
}

// layersOf returns the overlay of a container, as its layers lie on the machine.
func (e *Engine) layersOf(ctx context.Context, id string) (overlay, error) {
	record, err := e.client.ContainerService().Get(ctx, id)
	if err != nil {
		return overlay{}, fmt.Errorf("look at container %q: %w", id, err)
	}

	if scratch := record.Labels[labelScratch]; scratch != "" {
		layers, err := strconv.Atoi(record.Labels[labelLayers])
		if err != nil {
			return overlay{}, fmt.Errorf("read label of container %q: %w", id, err)
		}
		return overlayOf([]mount.Mount{e.scratchMount(id, scratch, layers)})
	}

	mounts, err := e.client.SnapshotService(e.opts.Snapshotter).Mounts(ctx, id)
	if err != nil {
		return overlay{}, fmt.Errorf("ask for snapshot of container %q: %w", id, err)
	}

	o, err := overlayOf(mounts)
	if _, ok := record.Labels[labelEphemeral]; ok {
		o.rest = append(o.rest, volatile)
	}
	return o, err
}

// volatile has an overlay leave it to the kernel when what is written reaches the disk. Without it the end of a
// container writes out all that the whole file system has not written yet, of whomever it is
// (https://docs.kernel.org/filesystems/overlayfs.html#volatile-mount).
const volatile = "volatile"

// mountAgain allows that an overlay is mounted once more. The kernel marks the work folder of a volatile one and
// refuses it from then on, because the machine could have crashed. A container that has not started may be tried again.
func (o overlay) mountAgain() error {
	if !slices.Contains(o.rest, volatile) {
		return nil
	}
	return os.RemoveAll(filepath.Join(o.work, "work", "incompat", volatile))
}

// lowerView returns the place at which a layer is seen with the ids of a container.
func (e *Engine) lowerView(layer string, run IDRange, views *containerViews) (string, error) {
	if strings.HasPrefix(layer, e.sourceDir("")) {
		return views.of(layer, layerMapping(run), unix.MOUNT_ATTR_RDONLY)
	}
	// …/snapshots/12/fs: one view of "snapshots" serves all image layers.
	snapshot := filepath.Dir(layer)
	view, err := views.of(filepath.Dir(snapshot), layerMapping(run), unix.MOUNT_ATTR_RDONLY)
	if err != nil {
		return "", err
	}
	return filepath.Join(view, filepath.Base(snapshot), filepath.Base(layer)), nil
}

// Drive opens the C: of a container that has been started, as the machine sees it: the same files by other ids. What is
// mounted there for the container is not.
func (*Engine) Drive(id string) (*os.File, error) {
	const place = "rootfs" // in the folder of a container in containerd's state
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		found := m.FSType == "overlay" && filepath.Base(m.Mountpoint) == place &&
			filepath.Base(filepath.Dir(m.Mountpoint)) == id
		return !found, found
	})
	if err != nil {
		return nil, fmt.Errorf("look for root of container %q: %w", id, err)
	}

	if len(mounts) == 0 {
		return nil, fmt.Errorf("container %q has no root: %w", id, fs.ErrNotExist)
	}
	root, err := os.OpenFile(mounts[0].Mountpoint, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("open root of container %q: %w", id, err)
	}
	defer root.Close()

	// The container's programs may have put something else in its place.
	fd, err := unix.Openat2(int(root.Fd()), drive, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return nil, fmt.Errorf("open drive of container %q: %w", id, err)
	}

	return os.NewFile(uintptr(fd), "drive of "+id), nil
}

// hasRegistry reports whether a container has begun before: its scratch has a registry, which is the container's own.
func hasRegistry(c Container, upper, hive string) bool {
	if c.Scratch == "" {
		return false
	}
	_, err := os.Lstat(filepath.Join(upper, hive))
	return !errors.Is(err, fs.ErrNotExist)
}

// giveFiles gives the files in a scratch that programs of the host have written, which belong to root, to the
// administrator of a container, which does not run.
func giveFiles(upper string, uid int) error {
	root, err := os.OpenRoot(upper)
	if err != nil {
		return err
	}
	defer root.Close()

	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if name == "." || !fs.ValidPath(name) { // names that are no text are a container's
			return nil
		}
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid == 0 && info.Mode()&fs.ModeDevice == 0 {
			return root.Lchown(filepath.FromSlash(name), uid, uid)
		}
		return nil
	})
}
