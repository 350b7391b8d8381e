package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/procfile"
)

// Leftovers returns the processes whose environment at their start had MarkerVariable set to marker, without the caller
// itself, in order of pid. It needs the right to read other processes' environment (root).
func Leftovers(marker string) ([]Leftover, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("find leftovers of %q: %w", marker, err)
	}
	var found []Leftover
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || !carries(pid, marker) {
			continue
		}
		found = append(found, describe(pid))
	}
	return found, nil
}

// KillLeftovers kills (SIGKILL) the processes that Leftovers finds, and those that they start meanwhile, except those
// for which keep, which may be nil, returns true. When they are gone, it returns them; it is an error if ctx is over
// before.
func KillLeftovers(ctx context.Context, marker string, keep func(Leftover) bool) ([]Leftover, error) {
	var killed []Leftover
	for {
		found, err := Leftovers(marker)
		if err != nil {
			return killed, err
		}
		var mine []Leftover
		for _, l := range found {
			if keep == nil || !keep(l) {
				mine = append(mine, l)
			}
		}
		if len(mine) == 0 {
			return killed, nil
		}
		for _, l := range mine {
			hit, err := killOne(ctx, l.PID, marker)
			if err != nil {
				return killed, err
			}
			if hit {
				killed = append(killed, l)
			}
		}
	}
}

// killOne kills the process if it (still) carries the marker, waits for its end, and reports whether it killed it.
func killOne(ctx context.Context, pid int, marker string) (bool, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	// From here on fd is one certain process. If the marker is in its environment now, it is the right one: a process
	// that had taken the pid over before would not have it.
	if !carries(pid, marker) {
		return false, nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return false, fmt.Errorf("kill process %d: %w", pid, err)
	}
	for {
		const slice = 100 // milliseconds, so that ctx is checked
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, slice)
		if n > 0 {
			return true, nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return false, fmt.Errorf("wait for process %d: %w", pid, err)
		}
		if ctx.Err() != nil {
			return false, fmt.Errorf("wait for process %d, which got SIGKILL: %w", pid, ctx.Err())
		}
	}
}

// carries reports whether the process was started with the marker.
func carries(pid int, marker string) bool {
	return procfile.HasVariable(pid, MarkerVariable+"="+marker)
}

// describe reads the fields of a Leftover from /proc; they stay empty if the process has ended.
func describe(pid int) Leftover {
	l := Leftover{PID: pid}
	if cmdline, err := procfile.Read(pid, "cmdline"); err == nil {
		l.Args = strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")
	}
	if stat, err := os.ReadFile(procfile.Path(pid, "stat")); err == nil {
		// "pid (name) state ppid …", and the name may hold anything: proc_pid_stat(5).
		if fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(fields) > 1 {
			l.PPID, _ = strconv.Atoi(fields[1])
		}
	}
	if cgroups, err := os.ReadFile(procfile.Path(pid, "cgroup")); err == nil {
		for line := range strings.Lines(string(cgroups)) { // "4:pids:/a/b", cgroups(7)
			if fields := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3); len(fields) == 3 {
				l.Cgroups = append(l.Cgroups, fields[2])
			}
		}
	}
	return l
}
