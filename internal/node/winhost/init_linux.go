package winhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/orphans"
)

// readyFile appears in the host's own /tmp when its first process has set it up.
const readyFile = "/tmp/.mullion-host-ready"

// StartInit starts cmd, which must run `mullion-node host-init`, as the first process of the host. It is a Starter of
// proc.Spec, whose Netns must be the host's; the caller stays on its OS thread until the process has ended.
func (h Host) StartInit(_ context.Context, cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if err := errors.Join(os.MkdirAll(h.Root, 0o700), h.clearTmp(), h.share()); err != nil {
		return fmt.Errorf("start host %q: %w", h.Name, err)
	}

	placed, err := h.place(cmd)
	if err != nil {
		return err
	}
	defer placed.Close()
	cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start host %q: %w", h.Name, err)
	}

	if err := h.record(cmd.Process.Pid); err != nil {
		return errors.Join(fmt.Errorf("start host %q: %w", h.Name, err), cmd.Process.Kill(), cmd.Wait())
	}
	return nil
}

// clearTmp makes the folder of the host's /tmp, empty.
func (h Host) clearTmp() error {
	if h.Tmp == "" {
		return nil
	}
	if err := os.RemoveAll(h.Tmp); err != nil {
		return err
	}
	if err := os.MkdirAll(h.Tmp, 0o700); err != nil {
		return err
	}
	return os.Chmod(h.Tmp, 0o777|os.ModeSticky)
}

// share makes what is mounted in the shared folders appear in the host. The machine's other mounts stay as they are.
func (h Host) share() error {
	for _, folder := range []string{h.Shared, h.Shares, h.Volumes} {
		if folder == "" {
			continue
		}
		if err := os.MkdirAll(folder, 0o711); err != nil {
			return err
		}
		if err := makeShared(folder); err != nil {
			return fmt.Errorf("share %q: %w", folder, err)
		}
	}
	return nil
}

func makeShared(folder string) error {
	err := unix.Mount("", folder, "", unix.MS_SHARED, "")
	if !errors.Is(err, unix.EINVAL) {
		return err
	}
	if err := unix.Mount(folder, folder, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if err := unix.Mount("", folder, "", unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return unix.Mount("", folder, "", unix.MS_SHARED, "")
}

func (h Host) record(pid int) error {
	start, err := startTime(pid)
	if err != nil {
		return err
	}
	return writeJSON(h.StateFile, state{PID: pid, StartTime: start})
}

// Ready returns nil when programs can be started in the host.
func (h Host) Ready(context.Context) error {
	pid, err := h.PID()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(fmt.Sprintf("/proc/%d/root%s", pid, readyFile)); err != nil {
		return fmt.Errorf("host %q is not set up yet: %w", h.Name, err)
	}
	return nil
}

// Init is the body of `mullion-node host-init`: it sets the host up and then waits for orphans until it gets SIGTERM or
// SIGINT, or Wine's server dies. Everything in the host ends with it.
func Init(h Host) error {
	if os.Getpid() != 1 {
		return errors.New(
			"set up host: host-init is not the first process of a PID namespace; it is started by the supervisor")
	}

	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGCHLD)
	unix.Umask(0) // files of the kubelet are read by containers of other uids
	if err := h.setUp(); err != nil {
		return fmt.Errorf("set up host %q: %w", h.Name, err)
	}
	looks := time.NewTicker(lookTime)
	defer looks.Stop()

	for {
		select {
		case <-looks.C:
			orphans.LetAllGoOn()
		case sig := <-signals:
			if sig != unix.SIGCHLD {
				endServers(saveTime)
				return nil
			}
			if err := h.reap(); err != nil {
				return err
			}
		}
	}
}

// lookTime is how often init looks for programs that stand still by mistake. Those that the machine starts in the host
// are not its children, so it is not told.
const lookTime = 5 * time.Second

// saveTime bounds the writing of the registry at the host's end.
const saveTime = 2 * time.Second

// endServers has Wine's servers write the registry to the disk and end, which they do at SIGTERM. By themselves they
// write it every 30 seconds (server/registry.c of Wine 8.0), so a service that was just made would be lost.
func endServers(within time.Duration) {
	for end := time.Now().Add(within); time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		servers := 0
		all, _ := filepath.Glob("/proc/[0-9]*/comm") // the pattern is right
		for _, file := range all {
			name, _ := os.ReadFile(file) // the process may have ended
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err == nil && orphans.IsWineServer(string(name)) && unix.Kill(pid, unix.SIGTERM) == nil {
				servers++
			}
		}

		if servers == 0 {
			return
		}
		orphans.Reap(func(int, string, syscall.WaitStatus) {})
	}
}

// reap waits for every child that has ended. They are orphans of the host: init starts no process itself. If Wine's
// server was killed, reap returns an error: without it Windows programs stand still, as after a crash of Windows'
// kernel.
func (h Host) reap() error {
	var err error
	orphans.Reap(func(pid int, name string, status syscall.WaitStatus) {
		if orphans.IsWineServer(name) && orphans.Killed(status) {
			err = fmt.Errorf(
				"run host %q: Wine's server (pid %d there) was killed or failed (signal %d, exit status %d), so that its Windows programs stand still: it has to start again",
				h.Name, pid, status.Signal(), status.ExitStatus())
		}
	})
	return err
}
