package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/procfile"
)

// KillCgroups ends all processes in the cgroups of that name and below, and removes the cgroups, on cgroup v1 and v2.
func KillCgroups(ctx context.Context, parent string) error {
	roots, err := filepath.Glob("/sys/fs/cgroup/*" + parent)
	if err != nil {
		return err
	}

	roots = append(roots, "/sys/fs/cgroup"+parent)
	if err := cgroup.Unbind(parent); err != nil {
		return err
	}
	for _, root := range roots { // on cgroup v2 the kernel ends all at once
		if err := cgroup.WriteExisting(filepath.Join(root, "cgroup.kill"), "1"); err != nil {
			return err
		}
	}

	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()

	for _, root := range roots {
		var w wane
		for {
			left, err := killCgroup(root, parent)
			if err != nil {
				return err
			}
			if left == 0 {
				break
			}

			if w.stands(left, time.Now()) {
				return fmt.Errorf("%d processes and cgroups in %q do not end", left, root)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	}

	return nil
}

// wane sees a number become smaller.
type wane struct {
	fewest int
	at     time.Time
}

// killPatience is how long nothing may end of what was killed. A process is at its end when what it had is given back,
// and the mounts of a container are when their files are on the disk: on a busy machine a hundred take minutes.
const killPatience = 20 * time.Second

// stands reports whether the number has not become smaller for killPatience.
func (w *wane) stands(left int, now time.Time) bool {
	if w.at.IsZero() || left < w.fewest {
		w.fewest, w.at = left, now
	}
	return now.Sub(w.at) > killPatience
}

// killCgroup sends SIGKILL to the processes in a cgroup tree, whose name is parent, removes the cgroups that are empty,
// and returns how many processes it saw.
func killCgroup(root, parent string) (int, error) {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		if cgroup.Gone(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, err
	}

	seen := 0
	for _, dir := range slices.Backward(dirs) {
		saw, err := killProcesses(dir, parent)
		seen += saw
		if err != nil {
			return seen, err
		}
		if err := os.Remove(dir); err != nil && !cgroup.Gone(err) {
			seen++ // still in use: look again
		}
	}

	return seen, nil
}

// killProcesses sends SIGKILL to the processes in a cgroup of the tree parent, and returns how many it saw.
func killProcesses(dir, parent string) (seen int, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil && !cgroup.Gone(err) {
		return 0, err
	}

	for line := range strings.FieldsSeq(string(data)) {
		pid, err := strconv.Atoi(line)
		if err != nil || pid <= 1 {
			continue
		}
		seen++
		if pid == os.Getpid() || visits(pid, parent) {
			continue
		}

		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			return seen, fmt.Errorf("end process %d of %q: %w", pid, dir, err)
		}
	}

	return seen, nil
}

// visits says whether a process is in a cgroup tree by a thread alone. With cgroup v1 whoever starts a program there,
// the supervisor or an agent, is in it by the thread that does (cgroup.Place), and cgroup.procs names the process. That
// thread ends with the program, and the process lives elsewhere. One whose first thread has ended does not visit: Linux
// places it in the root, and it is the tree's.
func visits(pid int, parent string) bool {
	in := func(name string) bool { return strings.Contains(name+"/", parent+"/") }
	elsewhere := procfile.Cgroups(pid)
	if len(elsewhere) == 0 || slices.ContainsFunc(elsewhere, in) {
		return false
	}
	stat := procfile.Stat(pid)
	return len(stat) > 0 && !slices.Contains([]string{"Z", "X"}, stat[0])
}
