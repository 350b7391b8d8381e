package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/containerd/containerd/v2/core/mount"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cleanup"
)

// layerViews are ID-mapped bind mounts of folders that hold layers: what belongs to id 0 on disk belongs to id 0 of the
// container in the view. An overlay keeps a reference to the view that it was mounted from, so views are unmounted when
// a container's is.
//
// containerd can ID-map lower layers itself (overlay mount options uidmap and gidmap), but maps the nearest common
// parent of all layers with everything mounted below it: here that would be the whole data folder, with its pinned
// network namespaces and overlays, which cannot be ID-mapped.
type layerViews struct {
	dir string

	mu   sync.Mutex
	next uint32
}

func newLayerViews(dir string) (*layerViews, error) {
	if err := unmountEntries(dir); err != nil { // those of an earlier process
		return nil, fmt.Errorf("remove layer views: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder of layer views %q: %w", dir, err)
	}
	return &layerViews{dir: dir}, nil
}

// target makes the mount point of a view. Its name is short, since all lower paths of an overlay share one page.
func (v *layerViews) target() (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.next++
	target := filepath.Join(v.dir, fmt.Sprintf("%x", v.next))
	return target, os.Mkdir(target, 0o700)
}

func (v *layerViews) close() error {
	if err := unmountEntries(v.dir); err != nil {
		return fmt.Errorf("remove layer views: %w", err)
	}
	return nil
}

// containerViews are the views of one container. Each folder has one, and is seen with one mapping.
type containerViews struct {
	all   *layerViews
	users map[mapping]*os.File
	made  map[string]string // views by their folders
	undo  cleanup.Stack
}

func (v *layerViews) forContainer() *containerViews {
	return &containerViews{
		all:   v,
		users: map[mapping]*os.File{},
		made:  map[string]string{},
	}
}

// of returns the path of a folder's view. The folder itself is its view with the mapping "".
func (v *containerViews) of(folder string, m mapping, attributes uint64) (string, error) {
	if m == "" {
		return folder, nil
	}
	key := folder + "\x00" + string(m)
	if target, ok := v.made[key]; ok {
		return target, nil
	}

	users, err := v.open(m)
	if err != nil {
		return "", err
	}
	target, err := v.all.target()
	if err != nil {
		return "", fmt.Errorf("make view of %q: %w", folder, err)
	}

	v.undo.Add(func() error { return os.Remove(target) })
	err = mount.IDMapMountWithAttrs(folder, target, int(users.Fd()), attributes, 0)
	if errors.Is(err, unix.EINVAL) {
		return "", fmt.Errorf("mount layers %q ID-mapped (needs Linux 5.19 and ext4, xfs or btrfs): %w", folder, err)
	}
	if err != nil {
		return "", fmt.Errorf("mount layers %q ID-mapped: %w", folder, err)
	}

	v.undo.Add(func() error { return unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) })
	v.made[key] = target
	return target, nil
}

func (v *containerViews) open(m mapping) (*os.File, error) {
	if users, ok := v.users[m]; ok {
		return users, nil
	}
	users, err := m.open()
	if err != nil {
		return nil, err
	}
	v.users[m] = users
	v.undo.Add(users.Close)
	return users, nil
}

// remove unmounts and removes the views. Overlays that were mounted from them keep them.
func (v *containerViews) remove() error {
	if err := v.undo.Clean(); err != nil {
		return fmt.Errorf("remove layer views: %w", err)
	}
	return nil
}
