package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/procfile"
)

// Labelled returns the processes whose environment at their start had MarkerVariable set to marker, without the caller
// itself, in order of pid. Anybody can set a variable, so this is for people and tests, and nothing is ended by it. It
// needs the right to read other processes' environment (root).
func Labelled(marker string) ([]Leftover, error) {
	return listed(func(pid int) bool { return procfile.HasVariable(pid, MarkerVariable+"="+marker) })
}

// Leftovers returns the processes that have the mark, without the caller itself, in order of pid.
func Leftovers(m Mark) ([]Leftover, error) {
	places, err := m.places()
	if err != nil {
		return nil, err
	}
	return listed(places.has)
}

// listed describes the processes for which is returns true.
func listed(is func(pid int) bool) ([]Leftover, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}

	var found []Leftover
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || !is(pid) {
			continue
		}
		found = append(found, describe(pid))
	}

	slices.SortFunc(found, func(a, b Leftover) int { return a.PID - b.PID })
	return found, nil
}

// KillLeftovers kills (SIGKILL) the processes that Leftovers finds, and those that they start meanwhile, except those
// for which keep, which may be nil, returns true. When they are gone, it returns them; it is an error if ctx is over
// before.
func KillLeftovers(ctx context.Context, m Mark, keep func(Leftover) bool) ([]Leftover, error) {
	var killed []Leftover
	for {
		places, err := m.places()
		if err != nil {
			return killed, err
		}
		found, err := listed(places.has)
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
			hit, err := killOne(ctx, l.PID, places)
			if err != nil {
				return killed, err
			}
			if hit {
				killed = append(killed, l)
			}
		}
	}
}

// killOne kills the process if it (still) has the mark, waits for its end, and reports whether it killed it.
func killOne(ctx context.Context, pid int, marked places) (bool, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) { // it is gone, or was a thread's
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open process %d: %w", pid, err)
	}
	defer unix.Close(fd)

	// From here on fd is one certain process. If it is in a marked place now, it is the right one: a process that had
	// taken the pid over before would not be there.
	if !marked.has(pid) {
		return false, nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return false, fmt.Errorf("kill process %d: %w", pid, err)
	}

	for {
		const slice = 100 // milliseconds, so that ctx is checked

		ends := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
		n, err := unix.Poll(ends, slice)
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

// places are where a mark says that processes are: cgroups, network namespaces, and a folder.
type places struct {
	cgroups    []string
	namespaces []namespace
	folder     string
	programs   []string
}

// namespace tells a namespace from all others (namespaces(7)).
type namespace struct{ dev, inode uint64 }

// places looks for the namespaces that are pinned now.
func (m Mark) places() (places, error) {
	p := places{
		cgroups:  m.Cgroups,
		folder:   m.Folder,
		programs: m.Programs,
	}
	if m.Pins == "" {
		return p, nil
	}

	entries, err := os.ReadDir(m.Pins)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return p, fmt.Errorf("list pinned namespaces: %w", err)
	}

	for _, e := range entries {
		// A pin that a crash left without its namespace is a plain file, which no process is in.
		if ns, ok := namespaceAt(filepath.Join(m.Pins, e.Name())); ok {
			p.namespaces = append(p.namespaces, ns)
		}
	}

	own, _ := namespaceAt("/proc/self/ns/net")
	p.namespaces = slices.DeleteFunc(p.namespaces, func(ns namespace) bool { return ns == own })
	return p, nil
}

func namespaceAt(path string) (namespace, bool) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return namespace{}, false
	}
	return namespace{dev: st.Dev, inode: st.Ino}, true
}

// has reports whether the process is in one of the places. A zombie and a thread of the kernel are in none.
func (p places) has(pid int) bool {
	if slices.ContainsFunc(procfile.Cgroups(pid), p.inCgroup) {
		return !isZombie(pid)
	}
	if len(p.namespaces) > 0 {
		ns, ok := namespaceAt(procfile.Path(pid, "ns/net"))
		if ok && slices.Contains(p.namespaces, ns) {
			return true
		}
	}
	return p.inFolder(pid)
}

// inFolder reports whether the process is one of the programs, root's, and works below the folder or is told of
// something there.
func (p places) inFolder(pid int) bool {
	if p.folder == "" || !slices.Contains(p.programs, filepath.Base(linkOf(pid, "exe"))) || !isRoots(pid) {
		return false
	}
	below := func(path string) bool { return strings.HasPrefix(path, p.folder+"/") }
	return below(linkOf(pid, "cwd")) || slices.ContainsFunc(describe(pid).Args, below)
}

// linkOf returns what a link of a process leads to, also after that has been removed; "" if the process has ended.
func linkOf(pid int, name string) string {
	path, err := os.Readlink(procfile.Path(pid, name))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(path, " (deleted)")
}

// isRoots reports whether the users of a process, real, effective, saved and that of files, are root.
func isRoots(pid int) bool {
	status, err := procfile.Read(pid, "status")
	return err == nil && bytes.Contains(status, []byte("\nUid:\t0\t0\t0\t0\n"))
}

func (p places) inCgroup(name string) bool {
	return slices.ContainsFunc(p.cgroups, func(of string) bool { return name == of || strings.HasPrefix(name, of+"/") })
}

func isZombie(pid int) bool {
	fields := procfile.Stat(pid)
	return len(fields) == 0 || fields[0] == "Z"
}

// describe reads the fields of a Leftover from /proc; they stay empty if the process has ended.
func describe(pid int) Leftover {
	l := Leftover{PID: pid, Cgroups: procfile.Cgroups(pid)}
	if cmdline, err := procfile.Read(pid, "cmdline"); err == nil {
		l.Args = strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")
	}
	if fields := procfile.Stat(pid); len(fields) > 1 {
		l.PPID, _ = strconv.Atoi(fields[1])
	}
	return l
}
