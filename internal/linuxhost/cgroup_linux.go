package linuxhost

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// hierarchy is one mounted cgroup hierarchy of the machine.
type hierarchy struct {
	dir string // where it is mounted
	v2  bool
}

// hierarchies are the machine's. Where controllers are on cgroup v1, an empty v2 hierarchy beside them is left out.
func hierarchies() ([]hierarchy, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []hierarchy
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() { // proc_pid_mountinfo(5)
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields, fsFields := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(fsFields) == 0 || !strings.HasPrefix(fields[4], "/sys/fs/cgroup") {
			continue
		}
		switch fsFields[0] {
		case "cgroup":
			all = append(all, hierarchy{dir: fields[4]})
		case "cgroup2":
			all = append(all, hierarchy{dir: fields[4], v2: true})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(all, func(h hierarchy) bool { return !h.v2 }) {
		all = slices.DeleteFunc(all, func(h hierarchy) bool { return h.v2 })
	}
	if len(all) == 0 {
		return nil, errors.New("no cgroup hierarchy is mounted below /sys/fs/cgroup")
	}
	return all, nil
}

// ensureCgroups makes the host's cgroups in every hierarchy, and that of its own processes in each.
func (h Host) ensureCgroups() error {
	all, err := hierarchies()
	if err != nil {
		return fmt.Errorf("make cgroups of host %q: %w", h.Name, err)
	}
	for _, hi := range all {
		if err := hi.ensure(h.Cgroup); err != nil {
			return fmt.Errorf("make cgroups of host %q: %w", h.Name, err)
		}
	}
	return nil
}

// shownAt is where the host sees its cgroup of the hierarchy.
func (hi hierarchy) shownAt() string {
	if hi.v2 {
		return "/sys/fs/cgroup"
	}
	return filepath.Join("/sys/fs/cgroup", filepath.Base(hi.dir))
}

// showsCgroups says whether the cgroups that the host sees are those of its name. They are not when the cgroups were removed,
// even if there are new ones.
func (h Host) showsCgroups() (bool, error) {
	all, err := hierarchies()
	if err != nil {
		return false, err
	}
	want := make([]unix.Stat_t, len(all))
	for i, hi := range all {
		err := unix.Stat(filepath.Join(hi.dir, h.Cgroup), &want[i])
		if errors.Is(err, unix.ENOENT) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	same := true
	err = h.inside(func() error {
		for i, hi := range all {
			var seen unix.Stat_t
			if err := unix.Stat(hi.shownAt(), &seen); err != nil {
				return err
			}
			same = same && seen.Dev == want[i].Dev && seen.Ino == want[i].Ino
		}
		return nil
	})
	return same, err
}

func (hi hierarchy) ensure(cgroup string) error {
	path := hi.dir
	for part := range strings.SplitSeq(strings.Trim(cgroup, "/")+"/"+leaf, "/") {
		parent := path
		path = filepath.Join(path, part)
		if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if hi.v2 {
			if err := passOn(parent); err != nil {
				return err
			}
			continue
		}
		if err := inheritCPUs(path, parent); err != nil {
			return err
		}
	}
	return nil
}

// passOn lets the cgroups in dir have all controllers that dir has, of cgroup v2.
func passOn(dir string) error {
	have, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(have)) {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0); err != nil {
			return fmt.Errorf("pass on cgroup controller %q of %q: %w", controller, dir, err)
		}
	}
	return nil
}

// inheritCPUs fills a new cpuset of cgroup v1, which holds no process before it has processors and memory nodes.
func inheritCPUs(dir, parent string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // not the cpuset hierarchy
		}
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(have)) != "" {
			continue
		}
		value, err := os.ReadFile(filepath.Join(parent, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), value, 0); err != nil {
			return err
		}
	}
	return nil
}

// joinCgroup moves the calling process into the host's cgroup itself; it is for the short life of set-up only.
func (h Host) joinCgroup() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hi := range all {
		if err := os.WriteFile(filepath.Join(hi.dir, h.Cgroup, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return err
		}
	}
	return nil
}

// placeChild has cmd start in the cgroup of the host's own processes. With v1 the calling thread goes there, and its child with it;
// with v2 threads of a process cannot part, and the kernel (5.7) places the child. The file, if any, is to be closed after the start.
func (h Host) placeChild(cmd *exec.Cmd) (*os.File, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	for _, hi := range all {
		dir := filepath.Join(hi.dir, h.Cgroup, leaf)
		if hi.v2 {
			f, err := os.Open(dir)
			if err != nil {
				return nil, err
			}
			if cmd.SysProcAttr == nil {
				cmd.SysProcAttr = &syscall.SysProcAttr{}
			}
			cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(f.Fd())
			return f, nil
		}
		if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0); err != nil {
			return nil, fmt.Errorf("enter cgroup %q: %w", dir, err)
		}
	}
	return nil, nil
}

// mountCgroups shows the host's own cgroups at target, in the places where the machine has all of them.
func (h Host) mountCgroups(target string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	if all[0].v2 {
		return bind(filepath.Join(all[0].dir, h.Cgroup), target, 0)
	}
	if err := unix.Mount("cgroup", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755"); err != nil {
		return err
	}
	for _, hi := range all {
		dir := filepath.Join(target, filepath.Base(hi.dir))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := bind(filepath.Join(hi.dir, h.Cgroup), dir, 0); err != nil {
			return err
		}
	}
	return linkControllers("/sys/fs/cgroup", target)
}

// linkControllers repeats symbolic links, such as cpu -> cpu,cpuacct.
func linkControllers(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		link, err := os.Readlink(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.Symlink(link, filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
