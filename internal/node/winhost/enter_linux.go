package winhost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/netns"
)

// waitDelay is how long the output of a program that has ended is still read if another process holds its pipes open.
const waitDelay = 500 * time.Millisecond

// PID returns the pid of the host's first process, or ErrDown.
func (h Host) PID() (int, error) {
	data, err := os.ReadFile(h.StateFile)
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("find host %q: %w", h.Name, ErrDown)
	}
	if err != nil {
		return 0, fmt.Errorf("find host %q: %w", h.Name, err)
	}

	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return 0, fmt.Errorf("find host %q: read %q: %w", h.Name, h.StateFile, err)
	}
	if start, err := startTime(s.PID); err != nil || start != s.StartTime {
		return 0, fmt.Errorf("find host %q: %w", h.Name, ErrDown)
	}
	return s.PID, nil
}

// startTime is field 22 of /proc/<pid>/stat, in clock ticks since boot; proc(5).
func startTime(pid int) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field, the name in parentheses, may hold spaces and parentheses.
	i := bytes.LastIndexByte(data, ')')
	if i < 0 {
		return 0, fmt.Errorf("read start time of process %d: no name in %.60q", pid, data)
	}

	const after = 22 - 3 // fields after the name begin with the third
	fields := bytes.Fields(data[i+1:])
	if len(fields) <= after {
		return 0, fmt.Errorf("read start time of process %d: %d fields", pid, len(fields)+2)
	}
	if string(fields[0]) == "Z" || string(fields[0]) == "X" {
		return 0, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}

	return strconv.ParseUint(string(fields[after]), 10, 64)
}

// Start enters all namespaces of the host on the calling OS thread and starts cmd there. It is a Starter of proc.Spec:
// the thread must be locked and thrown away afterwards. A Pdeathsig of cmd is taken out; see the package comment.
func (h Host) Start(_ context.Context, cmd *exec.Cmd) error {
	placed, err := h.place(cmd) // first: the host does not see cgroups
	if err != nil {
		return err
	}
	defer placed.Close()
	if err := h.enter(); err != nil {
		return err
	}
	if cmd.SysProcAttr != nil {
		cmd.SysProcAttr.Pdeathsig = 0
	}
	return cmd.Start()
}

// place makes cmd start in the cgroup of the host's programs. The caller closes the file, which may be nil, after the
// start.
func (h Host) place(cmd *exec.Cmd) (*os.File, error) {
	in, name := cgroup.Place, h.Cgroup+"/"+cgroup.Own
	if h.Cgroup == "" {
		in, name = cgroup.Prefer, h.Beside
	}
	file, err := in(cmd, name)
	if err != nil {
		return nil, fmt.Errorf("enter host %q: %w", h.Name, err)
	}
	return file, nil
}

// enter moves the calling thread into the host. The order matters: after the mount namespace, paths mean other files.
func (h Host) enter() error {
	pid, err := h.PID()
	if err != nil {
		return err
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("enter host %q: %w", h.Name, errors.Join(ErrDown, err))
	}
	defer unix.Close(pidfd)

	// A pidfd stays with one process. If the pid is still the first process's now, the pidfd is that process's too.
	if again, err := h.PID(); err != nil || again != pid {
		return fmt.Errorf("enter host %q: %w", h.Name, ErrDown)
	}
	// A mount namespace can only be entered by a task that shares its root and working folder with no other.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("enter host %q: unshare folders: %w", h.Name, err)
	}

	// setns with a pidfd (Linux 5.8) enters all of them or none.
	if err := unix.Setns(pidfd, unix.CLONE_NEWNS|unix.CLONE_NEWPID|unix.CLONE_NEWUTS|unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter host %q: %w", h.Name, err)
	}
	unix.Umask(0)
	return nil
}

// Command makes the command that runs a Windows program in the host: program is a Windows path, or a name for Wine to
// find. It is started with Run, Output or StartCommand, never by its own methods. When ctx is over it gets SIGKILL.
func (h Host) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	argv := append(append([]string{}, h.Loader...), append([]string{program}, args...)...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append([]string{}, h.Env...)
	cmd.Dir = h.Dir
	cmd.WaitDelay = waitDelay
	return cmd
}

// StartCommand starts cmd inside the host and returns. Wait and Process of cmd work as usual.
func (h Host) StartCommand(ctx context.Context, cmd *exec.Cmd) error {
	return netns.OnThread(func() error { return h.Start(ctx, cmd) })
}

// Run starts cmd inside the host and waits for it.
func (h Host) Run(ctx context.Context, cmd *exec.Cmd) error {
	if err := h.StartCommand(ctx, cmd); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return err
	}
	return nil
}

// Output runs a Windows program with stdin and further environment, and returns its standard output; an error has the
// standard error's end. This is how CNI plugins are called.
func (h Host) Output(ctx context.Context, stdin []byte, env []string, program string, args ...string) ([]byte, error) {
	cmd := h.Command(ctx, program, args...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := h.Run(ctx, cmd); err != nil {
		const keep = 2048
		tail := stderr.Bytes()
		return stdout.Bytes(), fmt.Errorf("run %s on host %q: %w: %s", program, h.Name, err,
			bytes.TrimSpace(tail[max(0, len(tail)-keep):]))
	}
	return stdout.Bytes(), nil
}
