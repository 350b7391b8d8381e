package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/bindmount"
)

// What a container mounts was opened and looked at by whoever asked for the container, in folders that other containers
// may write to. runc takes paths, and opens them when the container starts: by then a path may lead elsewhere. So the
// open files are bound to RunDir/mounts/<container>/<number>, where only root gets, and runc is told of those. runc's
// mounts are of its own: once it has made the container, the binds have done their work.

// sourceDir returns the folder of the binds of a container's mounts.
func (e *Engine) sourceDir(id string) string { return filepath.Join(e.opts.RunDir, "mounts", id) }

// sharesSource is the name in sourceDir of the mount of a container's SMB shares.
const sharesSource = "shares"

// bindMapped binds what a container mounts with the ids of its pod. If a file system knows no such mounts, the
// container has the ids that are on disk instead of the pod's, and so do its programs.
func (e *Engine) bindMapped(c *Container) ([]string, error) {
	paths, err := e.bindSources(*c, e.diskMapping(e.runIDs(*c)))
	if !errors.Is(err, errUnmapped) {
		return paths, err
	}
	e.opts.Log.Info("a container has users in common with others", "container", c.ID, "reason", err)
	c.DiskIDs = true
	return e.bindSources(*c, "")
}

// errUnmapped says that a file system knows no mounts with other ids than those that are on disk.
var errUnmapped = errors.New("its file system knows no mounts with ids of their own")

// bindSources binds what a container mounts, with its ids, moves the mount of its SMB shares beside the binds, if it
// has some, and returns the paths of the binds. If it returns an error, nothing is left.
func (e *Engine) bindSources(c Container, ids mapping) (paths []string, err error) {
	id := c.ID
	mounts := c.Mounts
	shares := c.Shares
	if len(mounts) == 0 && shares == nil {
		return nil, nil
	}

	dir := e.sourceDir(id)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("bind mounts of container %q: %w", id, err), unmountEntries(dir))
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}

	for i, m := range mounts {
		path := filepath.Join(dir, strconv.Itoa(i))
		of := ids
		if m.Own {
			if of, err = ownMapping(m, ids, e.owner(c)); err != nil {
				return nil, err
			}
		}

		if err := bindWith(m, path, of); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}

	if shares != nil {
		path := filepath.Join(dir, sharesSource)
		if err := os.Mkdir(path, 0o700); err != nil {
			return nil, err
		}
		if err := unix.MoveMount(int(shares.Fd()), "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return nil, fmt.Errorf("mount SMB shares: %w", err)
		}
	}

	return paths, nil
}

// bindWith binds the source of a mount with a mapping.
func bindWith(m Mount, path string, ids mapping) error {
	users, err := ids.open()
	if err != nil {
		return err
	}
	defer users.Close()
	mapped, err := bindSource(m.Source, path, users)
	if err == nil && users != nil && !mapped {
		err = fmt.Errorf("mount at %q: %w", m.Target, errUnmapped)
	}
	return err
}

// ownMapping returns the mapping of a mount with Own, for a container's user. ids is that of its other mounts.
func ownMapping(m Mount, ids mapping, user uint32) (mapping, error) {
	info, err := m.Source.Stat()
	if err != nil {
		return "", fmt.Errorf("look at mount source: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || ids == "" || (stat.Uid == 0 && !m.ReadOnly) {
		return ids, nil
	}
	return mapping(fmt.Sprintf("%d:%d:1", stat.Uid, user)), nil
}

// bindSource makes path, a folder or a file as source is, and binds source to it, with the ids of a user namespace
// unless that is nil. mapped is false if the file system knows no such mounts; then it has the ids that are on disk.
func bindSource(source *os.File, path string, users *os.File) (mapped bool, err error) {
	info, err := source.Stat()
	if err != nil {
		return false, fmt.Errorf("look at mount source: %w", err)
	}
	if err := makeEntry(unix.AT_FDCWD, path, info.IsDir()); err != nil {
		return false, fmt.Errorf("make %q: %w", path, err)
	}
	target, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, fmt.Errorf("open %q: %w", path, err)
	}
	defer unix.Close(target)
	return bindmount.Mapped(source, target, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, users)
}

// removeSources unbinds what a container mounts. A container without binds is no error.
func (e *Engine) removeSources(id string) error {
	return errors.Join(unmountEntries(e.sourceDir(id)), unmountEntries(e.layersDir(id)))
}

// clearSources removes the binds that an earlier process left, killed before it could: those of all containers but the
// ones that wait for their start.
func (e *Engine) clearSources(waits func(id string) (bool, error)) error {
	entries, err := os.ReadDir(filepath.Join(e.opts.RunDir, "mounts"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list binds of containers: %w", err)
	}

	var errs []error
	for _, entry := range entries {
		keep, err := waits(entry.Name())
		if err == nil && !keep {
			err = e.removeSources(entry.Name())
		}
		errs = append(errs, err)
	}

	return errors.Join(errs...)
}

// waitsForStart reports whether a container is known and has no task yet.
func (e *Engine) waitsForStart(ctx context.Context, id string) (bool, error) {
	ctx = e.with(ctx)
	_, err := e.client.ContainerService().Get(ctx, id)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at container %q: %w", id, err)
	}
	_, err = e.client.TaskService().Get(ctx, &tasksapi.GetRequest{ContainerID: id})
	if err = errgrpc.ToNative(err); err != nil && !errdefs.IsNotFound(err) {
		return false, fmt.Errorf("look at task of container %q: %w", id, err)
	}
	return err != nil, nil
}

// unmountEntries unmounts and removes everything in a folder of mount points, and the folder. A missing folder is no
// error.
func unmountEntries(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list mounts in %q: %w", dir, err)
	}

	var errs []error
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) {
			errs = append(errs, fmt.Errorf("unmount %q: %w", path, err))
			continue
		}
		// Remove, not RemoveAll: if it were still mounted, RemoveAll would delete what is there.
		if err := os.Remove(path); err != nil {
			errs = append(errs, fmt.Errorf("remove mount point: %w", err))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}

	return os.Remove(dir)
}
