package linuxhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// SetUp is the body of `mullion-node linux-host`: it reads a Host from in, makes its namespaces on a thread of its own,
// writes that thread's id to out, and holds them until in ends, which is when they have been pinned. The process must
// have no other work.
func SetUp(in io.Reader, out io.Writer) error {
	var h Host
	dec := json.NewDecoder(in)
	if err := dec.Decode(&h); err != nil {
		return fmt.Errorf("read the host's description: %w", err)
	}
	// cgroup v2 moves whole processes only, and a new cgroup namespace has its root where its maker is.
	if err := h.joinCgroup(); err != nil {
		return fmt.Errorf("enter cgroup of host %q: %w", h.Name, err)
	}

	runtime.LockOSThread() // and never unlocked
	if err := h.setUp(); err != nil {
		return fmt.Errorf("set up host %q: %w", h.Name, err)
	}
	if _, err := fmt.Fprintln(out, unix.Gettid()); err != nil {
		return err
	}

	_, err := io.Copy(io.Discard, dec.Buffered())
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	return err
}

// setUp moves the calling thread into new namespaces and changes their root.
func (h Host) setUp() error {
	if err := enterNet(h.Netns); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	if err := newMountNamespace(); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}

	// No mount passes from the machine to the host or back. Within the host, volumes may ask for propagation.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("part from the machine's mounts: %w", err)
	}
	if err := unix.Sethostname([]byte(h.Name)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}

	if err := h.makeRoot(); err != nil {
		return err
	}
	if err := h.enterRoot(); err != nil {
		return err
	}

	// As on a machine with systemd: https://kubernetes.io/docs/concepts/storage/volumes/#mount-propagation
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share mounts among the host's containers: %w", err)
	}
	return nil
}

func enterNet(path string) error { return enterPin(path, unix.CLONE_NEWNET) }

// enterPin moves the calling thread into the namespace of that kind that is pinned at path.
func enterPin(path string, kind int) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open namespace %q: %w", path, err)
	}
	if err := errors.Join(unix.Setns(fd, kind), unix.Close(fd)); err != nil {
		return fmt.Errorf("enter namespace %q: %w", path, err)
	}
	return nil
}

// kinds returns the namespaces that are pinned, in the order in which they are entered: after the mount namespace,
// paths mean other files.
func kinds() []kind {
	return []kind{
		{"uts", unix.CLONE_NEWUTS},
		{"ipc", unix.CLONE_NEWIPC},
		{"cgroup", unix.CLONE_NEWCGROUP},
		{"mnt", unix.CLONE_NEWNS},
	}
}

type kind struct {
	name string
	flag int
}

// up says whether all of the host's namespaces are pinned.
func (h Host) up() (bool, error) {
	for _, k := range kinds() {
		var st unix.Statfs_t
		err := unix.Statfs(h.pin(k.name), &st)
		if errors.Is(err, unix.ENOENT) || (err == nil && st.Type != unix.NSFS_MAGIC) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("look at pin %q: %w", h.pin(k.name), err)
		}
	}
	return true, nil
}

// pinAll pins the namespaces of a thread. The mount namespace comes last: with it the host is complete.
func (h Host) pinAll(pid, tid int) error {
	// A mount namespace cannot be bound where the mount would show in another one: the folder of pins is a mount of its
	// own, and private.
	if err := os.MkdirAll(h.pins(), 0o700); err != nil {
		return err
	}
	if err := unix.Mount(h.pins(), h.pins(), "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind folder of pins: %w", err)
	}

	if err := unix.Mount("", h.pins(), "", unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make folder of pins private: %w", err)
	}

	for _, k := range kinds() {
		if err := touch(h.pin(k.name)); err != nil {
			return err
		}
		if err := unix.Mount(fmt.Sprintf("/proc/%d/task/%d/ns/%s", pid, tid, k.name), h.pin(k.name), "", unix.MS_BIND,
			""); err != nil {
			return fmt.Errorf("pin %s namespace: %w", k.name, err)
		}
	}

	return nil
}

// unpin removes pins, whole or half made.
func (h Host) unpin() error {
	paths := []string{}
	for _, k := range kinds() {
		paths = append(paths, h.pin(k.name))
	}

	for _, path := range append(paths, h.pins()) {
		for {
			err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
			if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
				break
			}
			if err != nil {
				return fmt.Errorf("unpin %q: %w", path, err)
			}
		}
	}

	return os.RemoveAll(h.pins())
}
