package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Unbind takes from a cgroup and those below it what can keep processes from ending that are killed one by one: the
// limit of processor time, for which thousands of them wait in turn, and the right to start others. A cgroup that is
// not there is no error.
func Unbind(cgroup string) error {
	all, err := Hierarchies()
	for _, h := range all {
		err = errors.Join(err, unbind(filepath.Join(h.Dir, cgroup)))
	}
	if err != nil {
		return fmt.Errorf("unbind cgroup %q: %w", cgroup, err)
	}
	return nil
}

func unbind(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if Gone(err) {
			return nil
		}
		if err != nil || !d.IsDir() {
			return err
		}
		return errors.Join(WriteExisting(filepath.Join(path, "cpu.cfs_quota_us"), "-1"),
			WriteExisting(filepath.Join(path, "cpu.max"), unlimited), WriteExisting(filepath.Join(path, "pids.max"), "0"))
	})
}

// Gone reports whether err means that a cgroup does not exist. If one is removed while its files are open, they answer
// ENODEV; systemd removes a scope's cgroup when the last of its processes has ended.
func Gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) }

// WriteExisting writes to a file of a cgroup, if the cgroup has it.
func WriteExisting(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if Gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); Gone(err) {
		return nil
	}
	return err
}
