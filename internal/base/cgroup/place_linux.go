package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Place makes cmd start in the cgroup of that name, which is there. On v1 the calling thread goes there, and its child
// with it: the thread must be locked, not the process's first, and thrown away afterwards (netns.OnThread). On v2 a
// single thread cannot leave its process's cgroup; there the kernel puts the child into the cgroup (Linux 5.7). The
// caller closes the file after the start; it is nil on v1.
func Place(cmd *exec.Cmd, cgroup string) (*os.File, error) {
	all, err := Hierarchies()
	if err != nil {
		return nil, err
	}

	if all[0].V2 {
		group, err := os.Open(filepath.Join(all[0].Dir, cgroup))
		if err != nil {
			return nil, fmt.Errorf("enter cgroup: %w", err)
		}
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(group.Fd())
		return group, nil
	}

	for _, h := range all {
		dir := filepath.Join(h.Dir, cgroup)
		if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0); err != nil {
			return nil, fmt.Errorf("enter cgroup %q: %w", dir, err)
		}
	}

	return nil, nil //nolint:nilnil // nothing is to be closed
}

// MakeOwn makes the cgroup of that name and the one in it that is called Own, in every hierarchy. On cgroup v2 the
// outer one passes its controllers on.
func MakeOwn(cgroup string) error {
	if err := Make(filepath.Join(cgroup, Own)); err != nil {
		return err
	}
	return WeighOwn(cgroup)
}

// Make makes the cgroup of that name, in every hierarchy.
func Make(cgroup string) error {
	all, err := Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		if _, err := h.Make(cgroup); err != nil {
			return fmt.Errorf("make cgroup %q: %w", cgroup, err)
		}
	}
	return nil
}

// MemoryFiles are the files in which the kernel says how much memory a cgroup and all below it may hold and do hold, in
// bytes, and of what kind it is (https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files,
// https://docs.kernel.org/admin-guide/cgroup-v1/memory.html#stat-file).
type MemoryFiles struct{ Limit, Usage, Stat string }

// FindMemoryFiles returns those of the cgroup of that name, which is there.
func FindMemoryFiles(cgroup string) (MemoryFiles, error) {
	all, err := Hierarchies()
	if err != nil {
		return MemoryFiles{}, err
	}
	return memoryFiles(all, cgroup)
}

func memoryFiles(all []Hierarchy, cgroup string) (MemoryFiles, error) {
	i := slices.IndexFunc(all, func(h Hierarchy) bool { return h.mayHave("memory") })
	if i < 0 {
		return MemoryFiles{}, fmt.Errorf("find the memory of cgroup %q: %w", cgroup, ErrNoController)
	}

	dir := filepath.Join(all[i].Dir, cgroup)
	files := MemoryFiles{
		Limit: filepath.Join(dir, "memory.limit_in_bytes"),
		Usage: filepath.Join(dir, "memory.usage_in_bytes"),
		Stat:  filepath.Join(dir, "memory.stat"),
	}

	if all[i].V2 {
		files.Limit, files.Usage = filepath.Join(dir, "memory.max"), filepath.Join(dir, "memory.current")
	}
	if _, err := os.Stat(files.Limit); errors.Is(err, fs.ErrNotExist) {
		return MemoryFiles{}, fmt.Errorf("find the memory of cgroup %q: %w", cgroup, ErrNoController)
	} else if err != nil {
		return MemoryFiles{}, fmt.Errorf("find the memory of cgroup: %w", err)
	}

	return files, nil
}
