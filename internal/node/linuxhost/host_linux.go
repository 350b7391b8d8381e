package linuxhost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/netns"
)

// Ensure makes the host's namespaces, or finds those that are there and shows in them what Binds have now. program is
// the command that calls SetUp. The network namespace must be pinned.
func (h Host) Ensure(ctx context.Context, program []string) error {
	there, err := h.up()
	if err != nil {
		return err
	}

	if there {
		// If the host's cgroups were removed, everything in the host has ended, and its namespaces show cgroups that
		// are gone.
		if there, err = h.showsCgroups(); err != nil {
			return fmt.Errorf("look at the cgroups of host %q: %w", h.Name, err)
		}
	}
	if there {
		return h.refresh()
	}

	if err := h.unpin(); err != nil {
		return err
	}
	if err := h.ensureCgroups(); err != nil {
		return err
	}
	if err := h.create(ctx, program); err != nil {
		return fmt.Errorf("make host %q: %w", h.Name, errors.Join(err, h.unpin()))
	}

	if err := errors.Join(h.passOnOwn(), cgroup.WeighOwn(h.Cgroup)); err != nil {
		return fmt.Errorf("make host %q: %w", h.Name, errors.Join(err, h.unpin()))
	}
	return nil
}

func (h Host) create(ctx context.Context, program []string) error {
	description, err := json.Marshal(h)
	if err != nil {
		return err
	}

	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Env, cmd.Dir = []string{}, "/"
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}

	err = h.pinChild(cmd.Process.Pid, description, in, out)
	if waitErr := cmd.Wait(); waitErr != nil {
		return fmt.Errorf("%w: %s", waitErr, bytes.TrimSpace(complaints.Bytes()))
	}
	return err
}

// pinChild pins what the child has made and lets it end.
func (h Host) pinChild(pid int, description []byte, in io.WriteCloser, out io.Reader) error {
	_, err := in.Write(description)
	var line string
	if err == nil {
		line, err = bufio.NewReader(out).ReadString('\n')
	}
	if err == nil {
		var tid int
		if tid, err = strconv.Atoi(strings.TrimSpace(line)); err == nil {
			err = h.pinAll(pid, tid)
		}
	}
	return errors.Join(err, in.Close())
}

// refresh replaces binds whose source is another folder by now, as after a new build.
func (h Host) refresh() error {
	for _, b := range h.Binds {
		fd, err := unix.OpenTree(unix.AT_FDCWD, b.Source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err != nil {
			return fmt.Errorf("show %q in host %q: %w", b.Source, h.Name, err)
		}
		err = h.inside(func() error { return replaceBind(fd, b.Target) })
		if err := errors.Join(err, unix.Close(fd)); err != nil {
			return fmt.Errorf("show %q in host %q: %w", b.Source, h.Name, err)
		}
	}
	return nil
}

// replaceBind puts the tree fd in the place of what is at target, if that is another folder.
func replaceBind(fd int, target string) error {
	var now, want unix.Stat_t
	if err := unix.Fstat(fd, &want); err != nil {
		return err
	}

	err := unix.Stat(target, &now)
	switch {
	case errors.Is(err, unix.ENOENT): // the host is one of an earlier version, which has fewer binds
		err = os.MkdirAll(target, 0o755)
	case err != nil:
	case now.Dev == want.Dev && now.Ino == want.Ino:
		return nil
	default:
		err = unix.Unmount(target, unix.MNT_DETACH)
	}
	if err != nil {
		return err
	}

	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return err
	}
	return unix.MoveMount(fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// Remove unpins the namespaces; they end with the last process inside.
func (h Host) Remove() error {
	if err := h.unpin(); err != nil {
		return fmt.Errorf("remove host %q: %w", h.Name, err)
	}
	return nil
}

// Start enters the host on the calling OS thread and starts cmd there, in the cgroup of the host's own processes. It is
// a Starter of proc.Spec: the thread must be locked and thrown away afterwards.
func (h Host) Start(_ context.Context, cmd *exec.Cmd) error {
	if err := h.mustBeUp(); err != nil {
		return err
	}
	files, err := h.enterCgroup(cmd) // first: in the host's mount namespace its files have no names
	if err != nil {
		return fmt.Errorf("start %q on host %q: %w", cmd.Path, h.Name, err)
	}

	defer func() {
		for _, f := range files {
			_ = f.Close() // opened for the child alone
		}
	}()
	if err := h.enter(); err != nil {
		return err
	}

	return cmd.Start()
}

func (h Host) mustBeUp() error {
	there, err := h.up()
	if err == nil && !there {
		err = ErrDown
	}
	if err != nil {
		return fmt.Errorf("enter host %q: %w", h.Name, err)
	}
	return nil
}

// enter moves the calling thread into all namespaces of the host but its cgroup namespace.
func (h Host) enter() error {
	if err := enterNet(h.Netns); err != nil {
		return fmt.Errorf("enter host %q: %w", h.Name, err)
	}
	// A mount namespace can only be entered by a task that shares its root and working folder with no other.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("enter host %q: unshare folders: %w", h.Name, err)
	}

	for _, k := range kinds() {
		if k.flag == unix.CLONE_NEWCGROUP {
			continue
		}
		if err := enterPin(h.pin(k.name), k.flag); err != nil {
			return fmt.Errorf("enter host %q: %w", h.Name, err)
		}
	}

	unix.Umask(0o022)
	return nil
}

// inside runs f on a thread that sees the host's files.
func (h Host) inside(f func() error) error {
	if err := h.mustBeUp(); err != nil {
		return err
	}
	return netns.OnThread(func() error {
		if err := h.enter(); err != nil {
			return err
		}
		return f()
	})
}

// Command makes the command that runs a program in the host, found in its PATH. It is started with Exec, never by its
// own methods. When ctx is over it gets SIGKILL.
func (h Host) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/usr/bin/env", append([]string{"--", program}, args...)...)
	cmd.Env = []string{"PATH=" + h.PATH(), "HOME=/root"}
	cmd.Dir = "/"
	return cmd
}

// Exec starts cmd inside the host and waits for it.
func (h Host) Exec(ctx context.Context, cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if err := netns.OnThread(func() error { return h.Start(ctx, cmd) }); err != nil {
		return err
	}
	return cmd.Wait()
}
