package hcs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/bindmount"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/windows/wine"
)

// Programs of the host have a prepared scratch as a volume: they read and write C: of a container that does not run.
// The volume is an overlay of the scratch over its layers alone, without Wine's files. A running container has the
// scratch in an overlay of its own, and Linux lets no two overlays write to one folder; so the volume is that overlay,
// with Wine's files, from the start of the container's first program to the compute system's end. What programs of the
// host write there belongs to nobody in the container, and its programs may change it, as all make files with umask 0.
//
// A container may have put links of Linux into its scratch, that lead anywhere in the host: on the volume nobody
// follows links.
const (
	volumeFlags      = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOSYMFOLLOW
	volumeAttributes = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSYMFOLLOW
)

// volumePatience is how long a program of the host may still have a file of a volume that goes open.
const volumePatience = 500 * time.Millisecond

// show makes the volume of a scratch; l.mu is held. One that is there is made anew.
func (l *layers) show(s *scratch) error {
	if l.cfg.Volumes == "" || s.user != "" {
		return nil
	}
	if err := l.unshow(s.guid); err != nil {
		return err
	}

	lower, err := l.open(s.lower)
	if err != nil {
		return err
	}
	defer closeAll(lower)
	return l.mount(s, lower)
}

// mount makes the volume of a scratch of an overlay over open layers; l.mu is held.
func (l *layers) mount(s *scratch, lower []*os.File) error {
	whole, at := filepath.Join(s.dir, "whole"), filepath.Join(l.cfg.Volumes, s.guid)
	for _, dir := range []string{whole, at} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make volume of scratch: %w", err)
		}
	}

	if err := s.mountOver(lower, whole); err != nil {
		return fmt.Errorf("mount scratch over its layers: %w", err)
	}

	// The flags are those of the mount that it is bound from.
	err := unix.Mount(filepath.Join(whole, files), at, "", unix.MS_BIND, "")
	if err != nil {
		err = fmt.Errorf("bind drive of scratch: %w", err)
	}
	if err = errors.Join(err, unix.Unmount(whole, unix.MNT_DETACH)); err != nil {
		return errors.Join(err, l.unshow(s.guid))
	}

	return l.name(s.guid, at)
}

// share makes the drive of a container that runs the volume of its scratch.
func (c *computeSystem) share() error {
	l := &c.service.layers
	if l.cfg.Volumes == "" {
		return nil
	}
	drive, err := c.service.cfg.Engine.Drive(c.engine)
	if err != nil {
		return err
	}
	defer drive.Close()
	l.mu.Lock()
	defer l.mu.Unlock()

	if err := l.unshow(c.scratch.guid); err != nil {
		return err
	}
	at := filepath.Join(l.cfg.Volumes, c.scratch.guid)
	if err := os.MkdirAll(at, 0o755); err != nil {
		return fmt.Errorf("make volume of container: %w", err)
	}

	place, err := os.OpenFile(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("open volume of container: %w", err)
	}
	defer place.Close()
	if err := bindmount.Over(drive, int(place.Fd()), volumeAttributes); err != nil {
		return errors.Join(err, os.Remove(at))
	}

	return l.name(c.scratch.guid, at)
}

// unshare takes it away again, before the container goes.
func (c *computeSystem) unshare() error {
	l := &c.service.layers
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unshow(c.scratch.guid)
}

// mountOver mounts an overlay of a scratch over open layers. Its options have room for 4,096 bytes, and a layer has two
// folders: they are named from the folder of descriptors.
func (s *scratch) mountOver(lower []*os.File, at string) error {
	return netns.OnThread(func() error {
		if err := unix.Unshare(unix.CLONE_FS); err != nil { // the working folder is this thread's own
			return err
		}
		if err := unix.Chdir("/proc/self/fd"); err != nil {
			return err
		}
		return unix.Mount("overlay", at, "overlay", volumeFlags, s.overlay(lower))
	})
}

// overlay returns the options of an overlay of a scratch over open layers, as the folder of descriptors names them.
func (s *scratch) overlay(lower []*os.File) string {
	var names []string
	for _, f := range lower {
		names = append(names, strconv.FormatUint(uint64(f.Fd()), 10))
	}
	return "lowerdir=" + strings.Join(names, ":") + ",upperdir=" + filepath.Join(s.dir, "fs") +
		",workdir=" + filepath.Join(s.dir, "work") + ",redirect_dir=off"
}

// unshow takes the volume of a scratch away, if it is there; l.mu is held. Programs of the host write which GUID a
// scratch has: it may be that of a data disk's volume, which stays.
func (l *layers) unshow(guid string) error {
	if l.cfg.Volumes == "" || guid == "" {
		return nil
	}
	at := filepath.Join(l.cfg.Volumes, guid)
	if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if other, err := mountsOther(at); err != nil || other {
		if err == nil {
			err = refuse(InvalidArg, "the volume {%s} is no scratch's", guid)
		}
		return err
	}
	if err := l.unmapVolume(guid); err != nil {
		return err
	}

	err := unix.Unmount(at, 0)
	for begin := time.Now(); errors.Is(err, unix.EBUSY); err = unix.Unmount(at, 0) {
		if time.Since(begin) > volumePatience {
			l.cfg.Log.Warn("files of a volume are open, which goes", "scratch", guid)
			err = unix.Unmount(at, unix.MNT_DETACH)
			break
		}
		time.Sleep(volumePatience / 20) //nolint:forbidigo // the kernel does not tell when the last file is closed
	}
	if err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: it is not mounted
		return fmt.Errorf("unmount volume of scratch: %w", err)
	}

	return errors.Join(l.name(guid, ""), os.Remove(at))
}

// mountsOther reports whether a file system is mounted at a folder that is no scratch's, which is an overlay.
func mountsOther(at string) (bool, error) {
	is, err := mountinfo.Mounted(at)
	if err != nil || !is {
		return false, err
	}
	var s unix.Statfs_t
	if err := unix.Statfs(at, &s); err != nil {
		return false, fmt.Errorf("look at volume %q: %w", at, err)
	}
	return s.Type != unix.OVERLAYFS_SUPER_MAGIC, nil
}

// isShown reports whether a scratch is a volume.
func (l *layers) isShown(guid string) bool {
	_, err := os.Lstat(filepath.Join(l.cfg.Volumes, guid))
	return l.cfg.Volumes != "" && err == nil
}

// name gives a volume the name by which programs open it, or takes it away. The prefix's programs may write there, too.
func (l *layers) name(guid, at string) error {
	devices, err := wine.OpenDevices(filepath.Dir(l.cfg.Drive))
	if err != nil {
		return err
	}
	defer devices.Close()
	device := wine.VolumeDevice(guid)
	if err := devices.Remove(device); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("name volume of scratch: %w", err)
	}

	if at == "" {
		return nil
	}
	if err := devices.Symlink(at, device); err != nil {
		return fmt.Errorf("name volume of scratch: %w", err)
	}
	return nil
}
