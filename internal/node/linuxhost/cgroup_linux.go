package linuxhost

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// hierarchy is one mounted cgroup hierarchy of the machine.
type hierarchy struct {
	dir string // where it is mounted
	v2  bool
}

// hierarchies returns the machine's cgroup hierarchies. Where controllers are on cgroup v1, an empty v2 hierarchy is
// left out.
func hierarchies() ([]hierarchy, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return hierarchiesOf(f)
}

// hierarchiesOf reads the text of /proc/self/mountinfo.
func hierarchiesOf(text io.Reader) ([]hierarchy, error) {
	mounts, err := mountinfo.GetMountsFromReader(text, mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil, fmt.Errorf("list cgroup hierarchies: %w", err)
	}
	var all []hierarchy
	for _, m := range mounts {
		// one that is mounted over another, as Docker does with -v /sys:/sys, is named twice
		known := slices.ContainsFunc(all, func(h hierarchy) bool { return h.dir == m.Mountpoint })
		if strings.HasPrefix(m.Mountpoint, "/sys/fs/cgroup") && !known {
			all = append(all, hierarchy{dir: m.Mountpoint, v2: m.FSType == "cgroup2"})
		}
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

// showsCgroups reports whether the cgroups that the host sees are the ones that its name leads to now. They are not if
// they were removed, even if there are new ones of the same name.
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

// ensure makes the host's cgroup and the one of its programs. On cgroup v2 the cgroups above the host's pass on the
// controllers that are needed, unless they do already. The host's own cgroup passes them on later, when the process
// that makes the namespaces has left it.
func (hi hierarchy) ensure(cgroup string) error {
	path, err := hi.make(cgroup)
	if err != nil {
		return err
	}
	inner := filepath.Join(path, OwnCgroup)
	if err := mkdir(inner); err != nil {
		return err
	}
	if hi.v2 {
		return takeBack(path)
	}
	return inheritCPUs(inner, path)
}

// make makes a cgroup and those above it, which have the controllers that are needed, and returns its folder.
func (hi hierarchy) make(cgroup string) (string, error) {
	path := hi.dir
	for part := range strings.SplitSeq(strings.Trim(cgroup, "/"), "/") {
		parent := path
		path = filepath.Join(path, part)
		err := mkdir(path)
		switch {
		case err != nil:
		case hi.v2:
			err = passOnMissing(parent, path)
		default:
			err = inheritCPUs(path, parent)
		}
		if err != nil {
			return "", err
		}
	}
	return path, nil
}

func mkdir(path string) error {
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// takeBack undoes passOn, so that a process may be in the cgroup itself.
func takeBack(dir string) error {
	control := filepath.Join(dir, "cgroup.subtree_control")
	passed, err := os.ReadFile(control)
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(passed)) {
		if err := os.WriteFile(control, []byte("-"+controller), 0); err != nil {
			return fmt.Errorf("take back cgroup controller %q of %q: %w", controller, dir, err)
		}
	}
	return nil
}

// passOnOwn lets what runs in the host limit itself, on cgroup v2.
func (h Host) passOnOwn() error {
	all, err := hierarchies()
	if err != nil || !all[0].v2 {
		return err
	}
	return passOn(filepath.Join(all[0].dir, h.Cgroup))
}

// needed are the controllers without which a kubelet does not start:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/cgroup_v2_manager_linux.go
func needed() []string { return []string{"cpu", "cpuset", "memory", "pids"} }

// passOnMissing makes parent pass its controllers on if child lacks one that is needed. Otherwise parent, which may be
// systemd's, is left as it is.
func passOnMissing(parent, child string) error {
	have, err := os.ReadFile(filepath.Join(child, "cgroup.controllers"))
	if err != nil {
		return err
	}
	there := strings.Fields(string(have))
	if !slices.ContainsFunc(needed(), func(c string) bool { return !slices.Contains(there, c) }) {
		return nil
	}
	return passOn(parent)
}

// passOn gives the cgroups in dir all controllers that dir has, on cgroup v2.
func passOn(dir string) error {
	have, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(have)) {
		err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0)
		if err != nil && slices.Contains(needed(), controller) {
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
		if err := os.WriteFile(filepath.Join(hi.dir, h.Cgroup, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())),
			0); err != nil {
			return err
		}
	}
	return nil
}

// enterCgroup makes cmd start in the cgroup of the host's own processes, and in its cgroup namespace. On v1 the calling
// thread goes there, and its child with it. On v2 a single thread cannot leave its process's cgroup; there the kernel
// puts the child into the cgroup (Linux 5.7). The kernel does not do that for a caller in a cgroup namespace whose root
// is elsewhere, so the child enters the namespace itself, by nsenter(1). The caller closes the files returned after the
// start.
func (h Host) enterCgroup(cmd *exec.Cmd) ([]*os.File, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	if all[0].v2 {
		return h.placeChild(cmd, filepath.Join(all[0].dir, h.Cgroup, OwnCgroup))
	}
	for _, hi := range all {
		dir := filepath.Join(hi.dir, h.Cgroup, OwnCgroup)
		if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0); err != nil {
			return nil, fmt.Errorf("enter cgroup %q: %w", dir, err)
		}
	}
	return nil, enterPin(h.pin("cgroup"), unix.CLONE_NEWCGROUP)
}

func (h Host) placeChild(cmd *exec.Cmd, dir string) ([]*os.File, error) {
	cgroup, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	namespace, err := os.Open(h.pin("cgroup"))
	if err != nil {
		return nil, errors.Join(err, cgroup.Close())
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(cgroup.Fd())
	const firstExtra = 3 // standard input, output and error come before
	fd := firstExtra + len(cmd.ExtraFiles)
	cmd.ExtraFiles = append(cmd.ExtraFiles, namespace)
	cmd.Args = append([]string{"nsenter", fmt.Sprintf("--cgroup=/proc/self/fd/%d", fd), "--", cmd.Path},
		cmd.Args[1:]...)
	cmd.Path = "/usr/bin/nsenter"
	return []*os.File{cgroup, namespace}, nil
}

// mountCgroups shows the host's own cgroups at target, in the places where the machine has all of them.
func (h Host) mountCgroups(target string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	if all[0].v2 {
		return bind(filepath.Join(all[0].dir, h.Cgroup), target)
	}
	if err := unix.Mount("cgroup", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
		"mode=755"); err != nil {
		return err
	}
	for _, hi := range all {
		dir := filepath.Join(target, filepath.Base(hi.dir))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := bind(filepath.Join(hi.dir, h.Cgroup), dir); err != nil {
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
