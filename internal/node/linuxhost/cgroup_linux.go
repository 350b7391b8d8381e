package linuxhost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
)

// ensureCgroups makes the host's cgroups in every hierarchy, and that of its own processes in each.
func (h Host) ensureCgroups() error {
	all, err := cgroup.Hierarchies()
	if err != nil {
		return fmt.Errorf("make cgroups of host %q: %w", h.Name, err)
	}
	for _, hi := range all {
		if err := hi.MakeWith(h.Cgroup, cgroup.Own); err != nil {
			return fmt.Errorf("make cgroups of host %q: %w", h.Name, err)
		}
	}
	return nil
}

// shownAt returns where the host sees its cgroup of the hierarchy.
func shownAt(hi cgroup.Hierarchy) string {
	if hi.V2 {
		return "/sys/fs/cgroup"
	}
	return filepath.Join("/sys/fs/cgroup", filepath.Base(hi.Dir))
}

// showsCgroups reports whether the cgroups that the host sees are the ones that its name leads to now. They are not if
// they were removed, even if there are new ones of the same name.
func (h Host) showsCgroups() (bool, error) {
	all, err := cgroup.Hierarchies()
	if err != nil {
		return false, err
	}

	want := make([]unix.Stat_t, len(all))
	for i, hi := range all {
		err := unix.Stat(filepath.Join(hi.Dir, h.Cgroup), &want[i])
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
			if err := unix.Stat(shownAt(hi), &seen); err != nil {
				return err
			}
			same = same && seen.Dev == want[i].Dev && seen.Ino == want[i].Ino
		}
		return nil
	})

	return same, err
}

// passOnOwn lets what runs in the host limit itself, on cgroup v2.
func (h Host) passOnOwn() error {
	all, err := cgroup.Hierarchies()
	if err != nil || !all[0].V2 {
		return err
	}
	return cgroup.PassOn(filepath.Join(all[0].Dir, h.Cgroup))
}

// joinCgroup moves the calling process into the host's cgroup itself; it is for the short life of set-up only.
func (h Host) joinCgroup() error {
	all, err := cgroup.Hierarchies()
	if err != nil {
		return err
	}
	for _, hi := range all {
		if err := os.WriteFile(filepath.Join(hi.Dir, h.Cgroup, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())),
			0); err != nil {
			return err
		}
	}
	return nil
}

// enterCgroup makes cmd start in the cgroup of the host's own processes, and in its cgroup namespace. On v2 the kernel
// does not put a child into a cgroup for a caller in a cgroup namespace whose root is elsewhere, so the child enters
// the namespace itself, by nsenter(1). The caller closes the files returned after the start.
func (h Host) enterCgroup(cmd *exec.Cmd) ([]*os.File, error) {
	group, err := cgroup.Place(cmd, filepath.Join(h.Cgroup, cgroup.Own))
	if err != nil {
		return nil, err
	}
	if group == nil {
		return nil, enterPin(h.pin("cgroup"), unix.CLONE_NEWCGROUP)
	}

	namespace, err := os.Open(h.pin("cgroup"))
	if err != nil {
		return nil, errors.Join(err, group.Close())
	}

	const firstExtra = 3 // standard input, output and error come before
	fd := firstExtra + len(cmd.ExtraFiles)
	cmd.ExtraFiles = append(cmd.ExtraFiles, namespace)
	cmd.Args = append([]string{"nsenter", fmt.Sprintf("--cgroup=/proc/self/fd/%d", fd), "--", cmd.Path},
		cmd.Args[1:]...)
	cmd.Path = "/usr/bin/nsenter"

	return []*os.File{group, namespace}, nil
}

// mountCgroups shows the host's own cgroups at target, in the places where the machine has all of them.
func (h Host) mountCgroups(target string) error {
	all, err := cgroup.Hierarchies()
	if err != nil {
		return err
	}
	if all[0].V2 {
		return bind(filepath.Join(all[0].Dir, h.Cgroup), target)
	}

	if err := unix.Mount("cgroup", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
		"mode=755"); err != nil {
		return err
	}

	for _, hi := range all {
		dir := filepath.Join(target, filepath.Base(hi.Dir))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := bind(filepath.Join(hi.Dir, h.Cgroup), dir); err != nil {
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
