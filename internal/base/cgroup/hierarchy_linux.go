package cgroup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Hierarchy is one mounted cgroup hierarchy of the machine.
type Hierarchy struct {
	// Dir is where it is mounted.
	Dir string
	V2  bool
}

// Hierarchies returns the machine's cgroup hierarchies. Where controllers are on cgroup v1, an empty v2 hierarchy is
// left out.
func Hierarchies() ([]Hierarchy, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := mounted(f)
	return used(all), err
}

// mounted reads the text of /proc/self/mountinfo.
func mounted(text io.Reader) ([]Hierarchy, error) {
	mounts, err := mountinfo.GetMountsFromReader(text, mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil, fmt.Errorf("list cgroup hierarchies: %w", err)
	}

	var all []Hierarchy
	for _, m := range mounts {
		// one that is mounted over another, as Docker does with -v /sys:/sys, is named twice
		known := slices.ContainsFunc(all, func(h Hierarchy) bool { return h.Dir == m.Mountpoint })
		if strings.HasPrefix(m.Mountpoint, "/sys/fs/cgroup") && !known {
			all = append(all, Hierarchy{Dir: m.Mountpoint, V2: m.FSType == "cgroup2"})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no cgroup hierarchy is mounted below /sys/fs/cgroup")
	}

	return all, nil
}

// used leaves out a v2 hierarchy beside those of v1: it has no controllers.
func used(all []Hierarchy) []Hierarchy {
	if slices.ContainsFunc(all, func(h Hierarchy) bool { return !h.V2 }) {
		all = slices.DeleteFunc(all, func(h Hierarchy) bool { return h.V2 })
	}
	return all
}

// Make makes a cgroup and those above it, which have the controllers that are needed, and returns its folder.
func (h Hierarchy) Make(cgroup string) (string, error) {
	path := h.Dir
	for part := range strings.SplitSeq(strings.Trim(cgroup, "/"), "/") {
		parent := path
		path = filepath.Join(path, part)
		err := mkdir(path)
		switch {
		case err != nil:
		case h.V2:
			err = h.passOnMissing(parent, path)
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

// MakeWith makes a cgroup as Make does, and the one in it that is called inner, for the processes of its owner. On
// cgroup v2 the cgroup itself passes no controllers on, so that a process may be in it for a while; PassOn ends that.
func (h Hierarchy) MakeWith(cgroup, inner string) error {
	path, err := h.Make(cgroup)
	if err != nil {
		return err
	}
	own := filepath.Join(path, inner)
	if err := mkdir(own); err != nil {
		return err
	}

	if h.V2 {
		return takeBack(path)
	}

	return inheritCPUs(own, path)
}

// Remove removes a cgroup in which nothing is any more, from every hierarchy, also from one without controllers, in
// which runc makes cgroups too. One that is not there is no error.
func Remove(cgroup string) error {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("remove cgroup %q: %w", cgroup, err)
	}
	defer f.Close()
	all, err := mounted(f)
	if err != nil {
		return fmt.Errorf("remove cgroup %q: %w", cgroup, err)
	}

	var errs []error
	for _, h := range all {
		if err := os.Remove(filepath.Join(h.Dir, cgroup)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}

	return errors.Join(errs...)
}

// takeBack undoes PassOn, so that a process may be in the cgroup itself.
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

// needed returns the controllers without which a kubelet does not start:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/cgroup_v2_manager_linux.go
func needed() []string { return []string{"cpu", "cpuset", "memory", "pids"} }

// passOnMissing makes parent pass its controllers on if child lacks one that is needed. Otherwise parent, which may be
// systemd's, is left as it is.
func (h Hierarchy) passOnMissing(parent, child string) error {
	have, err := os.ReadFile(filepath.Join(child, "cgroup.controllers"))
	if err != nil {
		return err
	}
	there := strings.Fields(string(have))
	if !slices.ContainsFunc(needed(), func(c string) bool { return !slices.Contains(there, c) }) {
		return nil
	}

	if err := h.leaveRoot(parent); err != nil {
		return err
	}

	return PassOn(parent)
}

// leaveRoot moves the processes of the hierarchy's root, if dir is that, to the cgroup "init" in it. In a container the
// root is the container's cgroup, which its processes are in, and one with processes passes no memory controller on.
// Docker's own image docker:dind does the same when it starts. The machine's own root, which has no cgroup.type, passes
// all on as it is.
func (h Hierarchy) leaveRoot(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "cgroup.type")); dir != h.Dir || errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	to := filepath.Join(dir, "init")
	for range 100 { // others may start programs meanwhile
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil || len(text) == 0 {
			return err
		}
		if err := mkdir(to); err != nil {
			return err
		}

		for pid := range strings.FieldsSeq(string(text)) {
			err := os.WriteFile(filepath.Join(to, "cgroup.procs"), []byte(pid), 0)
			if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
				return fmt.Errorf("move process %s to cgroup %q: %w", pid, to, err)
			}
		}
	}

	return fmt.Errorf("move processes to cgroup %q: there are always new ones in the one above", to)
}

// PassOn gives the cgroups in dir all controllers that dir has, on cgroup v2.
func PassOn(dir string) error {
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
		if err := os.WriteFile(filepath.Join(dir, name), value, 0); err != nil { //nolint:gosec // of two cgroups, by the kernel's names
			return err
		}
	}

	return nil
}
