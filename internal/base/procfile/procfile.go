// Package procfile reads what Linux shows of a process in /proc, where the process itself says how much that is.
package procfile

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mostBytes bounds what is read of a process: a process says itself where in its memory its environment and its command
// line are (PR_SET_MM_MAP in prctl(2)), and can make them gigabytes long. Linux starts no process with more than this
// of both (a quarter of the 8 MiB of a stack, and at most 6 MiB: execve(2)).
const mostBytes = 6 << 20

// Path returns the name of a process's file: "/proc/17/environ".
func Path(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

// Read returns a file of a process, and no more than its first 6 MiB.
func Read(pid int, name string) ([]byte, error) {
	f, err := os.Open(Path(pid, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostBytes))
}

// HasVariable reports whether a process has "NAME=value" in its environment. A process can change what Linux shows of
// it; one that has ended, a zombie too, has none.
func HasVariable(pid int, variable string) bool {
	environ, err := Read(pid, "environ")
	if err != nil {
		return false // it ended, or is a kernel thread
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if string(entry) == variable {
			return true
		}
	}
	return false
}

// Cgroups returns the paths of a process's cgroups, one in each hierarchy; none if it has ended. With cgroup v1 those
// of a process whose first thread has ended are the root.
func Cgroups(pid int) []string {
	text, err := os.ReadFile(Path(pid, "cgroup"))
	if err != nil {
		return nil
	}
	var all []string
	for line := range strings.Lines(string(text)) { // "4:pids:/a/b", cgroups(7)
		if fields := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3); len(fields) == 3 {
			all = append(all, fields[2])
		}
	}
	return all
}

// Stat returns the fields of a process's stat after its name, none if it has ended: "pid (name) state ppid …", and the
// name may hold anything (proc_pid_stat(5)).
func Stat(pid int) []string {
	text, err := os.ReadFile(Path(pid, "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}
