// Package netns pins network namespaces to files and runs code inside them. It makes, recognises and removes the files,
// and does not configure the namespaces.
//
// A pin is an empty file with an nsfs namespace bound onto it, as ip-netns(8) makes them. The mount lives in the mount
// namespace of the process that makes it: whoever joins by path must share that mount namespace.
package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// Self is the path of the calling process's own network namespace: that of its main thread.
const Self = "/proc/self/ns/net"

// The main goroutine is locked to the main thread. So no other goroutine, here or in a library, can enter a namespace
// on the main thread, whose namespace is Self.
func init() { runtime.LockOSThread() } //nolint:gochecknoinits // only init is sure to run on the main thread

// Exists reports whether a network namespace is pinned at path; a plain file left by a crash or a reboot does not
// count.
func Exists(path string) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			return false, nil
		}
		return false, fmt.Errorf("look at network namespace %q: %w", path, err)
	}
	return st.Type == unix.NSFS_MAGIC, nil
}

// Ensure pins a network namespace at path, with its loopback up. It reports whether it made one.
func Ensure(path string) (created bool, err error) {
	there, err := Exists(path)
	if err != nil {
		return false, err
	}
	if !there {
		if err := create(path); err != nil {
			return false, fmt.Errorf("make network namespace %q: %w", path, err)
		}
	}
	return !there, Do(path, loopbackUp)
}

func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return err
	}

	if err := f.Close(); err != nil {
		return err
	}

	return OnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		source := fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid())
		return unix.Mount(source, path, "", unix.MS_BIND, "")
	})
}

// Remove unpins the namespace and removes the file; a missing file is no error. The namespace itself lives on while a
// process is inside.
func Remove(path string) error {
	for {
		err := unix.Unmount(path, unix.MNT_DETACH)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
			break
		}
		if err != nil {
			return fmt.Errorf("unpin network namespace %q: %w", path, err)
		}
	}

	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}

	return nil
}

// Do runs f on a thread that is inside the namespace at path. Programs that f starts directly are inside too;
// goroutines that f starts are not.
func Do(path string, f func() error) error {
	return OnThread(func() error {
		if err := Enter(path); err != nil {
			return err
		}
		return f()
	})
}

// Enter moves the calling thread into the namespace at path. Call it in a function that OnThread runs.
func Enter(path string) error {
	ns, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer func() { _ = ns.Close() }()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %q: %w", path, err)
	}
	return nil
}

// OnThread runs f on a thread of its own, which ends with f: whatever namespaces f enters, of any kind, stay with that
// thread. It is never the main thread, to which init has locked the main goroutine.
func OnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		done <- f() // never unlocked: the runtime ends the thread with the goroutine
	}()
	return <-done
}

// loopbackUp sets lo up by ioctl: cheaper than a netlink socket, and it needs no other package.
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("set loopback up: %w", err)
	}
	defer func() { _ = unix.Close(s) }()

	req, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("set loopback up: %w", err)
	}
	if err := unix.IoctlIfreq(s, unix.SIOCGIFFLAGS, req); err != nil {
		return fmt.Errorf("set loopback up: %w", err)
	}

	req.SetUint16(req.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("set loopback up: %w", err)
	}

	return nil
}

// Sysctl writes /proc/sys/<key> (slashes, as in net/ipv4/ip_forward) of the namespace the calling thread is in, if it
// differs, and returns the former value.
func Sysctl(key, value string) (string, error) {
	path := filepath.Join("/proc/sys", key)
	old, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read sysctl %q: %w", key, err)
	}
	was := string(trimNewline(old))
	if was == value {
		return was, nil
	}

	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		return "", fmt.Errorf("set sysctl %q: %w", key, err)
	}

	return was, nil
}

func trimNewline(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == ' ') {
		b = b[:len(b)-1]
	}
	return b
}
