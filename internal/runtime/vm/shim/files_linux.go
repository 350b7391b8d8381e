package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/v2/core/mount"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/bindmount"
	"mullion.dev/mullion/internal/runtime/vm"
	"mullion.dev/mullion/internal/runtime/vm/link"
)

// unmountFlags: virtiofsd may have files open.
const unmountFlags = unix.MNT_DETACH | unix.UMOUNT_NOFOLLOW

// makeDirs makes a machine's folder and the folder that it shares. virtiofsd, in a group of its own, sees what is
// mounted there later.
func makeDirs(spec vm.Spec) error {
	if err := os.Mkdir(spec.Dir, 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(spec.Share(), 0o755); err != nil {
		return err
	}
	if err := unix.Mount(spec.Share(), spec.Share(), "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %q: %w", spec.Share(), err)
	}

	// The mount is private first, so that the mounts of this machine reach nobody else.
	for _, propagation := range []uintptr{unix.MS_PRIVATE, unix.MS_SHARED} {
		if err := unix.Mount("", spec.Share(), "", propagation, ""); err != nil {
			return fmt.Errorf("share mounts in %q: %w", spec.Share(), err)
		}
	}

	if err := os.Chown(spec.Dir, 0, int(spec.User.ID+1)); err != nil {
		return err
	}

	return os.Chmod(spec.Dir, 0o710)
}

// share mounts a container's root file system and the sources of its binds for the guest. Each is as writable as the
// container's specification says, because a guest can undo its own mounts. It writes the specification for the guest
// beside them.
func share(spec vm.Spec, id, bundle string, rootfs []*types.Mount) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("share the files of container %q: %w", id, err), removeShared(spec, id))
		}
	}()

	s, err := readOCI(bundle)
	if err != nil {
		return err
	}
	root := filepath.Join(spec.Shared(id), "rootfs")
	if err := os.MkdirAll(root, 0o711); err != nil {
		return err
	}

	var mounts []mount.Mount
	for _, m := range rootfs {
		mounts = append(mounts, mount.Mount{
			Type:    m.GetType(),
			Source:  m.GetSource(),
			Options: m.GetOptions(),
		})
	}

	if err := mount.All(mounts, root); err != nil {
		return fmt.Errorf("mount root: %w", err)
	}

	for i, m := range s.Mounts {
		if m.Type != "bind" {
			continue
		}
		name := strconv.Itoa(i)
		if err := bind(m, filepath.Join(spec.Shared(id), name)); err != nil {
			return fmt.Errorf("bind %q: %w", m.Destination, err)
		}
		s.Mounts[i].Source = path.Join(link.SharedAt, id, name)
	}

	text, err := json.Marshal(guestSpec(s, id))
	if err != nil {
		return err
	}

	return os.WriteFile(filepath.Join(spec.Shared(id), "config.json"), text, 0o644)
}

// guestSpec returns a container's specification for the guest, whose network is the pod's.
func guestSpec(s *specs.Spec, id string) *specs.Spec {
	s.Annotations = nil
	s.Root.Path = path.Join(link.SharedAt, id, "rootfs")
	s.Linux.CgroupsPath = "/pod/" + id
	s.Linux.Namespaces = slices.DeleteFunc(s.Linux.Namespaces, func(n specs.LinuxNamespace) bool {
		return n.Type == specs.NetworkNamespace
	})
	return s
}

// bind binds the source of m to path, which it makes.
func bind(m specs.Mount, at string) error {
	info, err := os.Stat(m.Source)
	if err != nil {
		return err
	}

	if info.IsDir() {
		err = os.Mkdir(at, 0o711)
	} else {
		err = os.WriteFile(at, nil, 0o600)
	}
	if err != nil {
		return err
	}

	target, err := unix.Open(at, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	var attributes uint64 = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	if slices.Contains(m.Options, "ro") {
		attributes |= unix.MOUNT_ATTR_RDONLY
	}

	return bindmount.PathOver(m.Source, target, attributes)
}
