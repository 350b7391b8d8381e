package preflight

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// lookSELinux reads what SELinux' file system and this process's entry of /proc say below a root, which is "/" but in
// tests; selinux(8), https://github.com/SELinuxProject/selinux-notebook/blob/main/src/lsm_selinux.md.
func lookSELinux(root string) SELinux {
	word := func(path string) string {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return ""
		}
		first, _, _ := strings.Cut(strings.Trim(string(text), "\n\x00"), " ") // a boolean has its value, and the one to come
		return first
	}

	s := SELinux{Enforcing: word("sys/fs/selinux/enforce") == "1"}
	if !s.Enforcing {
		return s // the files of other security modules have the same names
	}

	// Those of Fedora's policy, and those of the reference policy, which Debian has.
	for _, boolean := range []struct{ name, refuses, change string }{
		{"deny_execmem", "1", "off"},
		{"selinuxuser_execmod", "0", "on"},
		{"allow_execmem", "0", "on"},
		{"allow_execmod", "0", "on"},
	} {
		if word("sys/fs/selinux/booleans/"+boolean.name) == boolean.refuses {
			s.Booleans = append(s.Booleans, boolean.name+"="+boolean.change)
		}
	}

	const domainAt = 2 // user:role:type:level
	if fields := strings.Split(word("proc/self/attr/current"), ":"); len(fields) > domainAt {
		s.Domain = fields[domainAt]
	}

	return s
}

// trySELinux tries what Wine's loader does, where SELinux may refuse it.
func trySELinux(s SELinux) SELinux {
	if s.Enforcing {
		s.ExecMem, s.ExecMod = tryExecMem(), tryExecMod("/proc/self/exe")
	}
	return s
}

func tryExecMem() error {
	const all = unix.PROT_READ | unix.PROT_WRITE | unix.PROT_EXEC
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), all, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("map memory to be written and executed: %w", err)
	}
	return unix.Munmap(page)
}

// tryExecMod writes into a private mapping of a file, and has it executable then.
func tryExecMod(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return nil // nothing is known then
	}
	defer f.Close()
	page, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("map a file to be written: %w", err)
	}

	defer unix.Munmap(page) //nolint:errcheck // it goes with the process at the latest
	page[0]++
	if err := unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		return fmt.Errorf("execute what was written into a file's memory: %w", err)
	}
	return nil
}
