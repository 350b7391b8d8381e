//go:build e2e

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// processes are the cluster's, with their command lines: those that carry its marker, and those in its containers.
func (f fixture) processes(t *testing.T) map[int]string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	out := map[int]string{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		environ, _ := os.ReadFile(filepath.Join(dir, "environ")) // a process that has ended belongs to nobody
		cgroup, _ := os.ReadFile(filepath.Join(dir, "cgroup"))
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if len(command) == 0 {
			continue
		}
		marked := strings.Contains("\x00"+string(environ), "\x00MULLION_CLUSTER="+f.data+"\x00")
		if marked || strings.Contains(string(cgroup), "/mullion-"+f.tag()) {
			out[pid] = strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return out
}

// kill sends SIGKILL to the cluster's processes whose command line matches, and returns how many there were.
func (f fixture) kill(t *testing.T, pattern string) map[int]string {
	t.Helper()
	match := regexp.MustCompile(pattern)
	killed := map[int]string{}
	for pid, command := range f.processes(t) {
		if !match.MatchString(command) {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
		killed[pid] = command
	}
	if len(killed) == 0 {
		t.Fatalf("no process of the cluster matches %q", pattern)
	}
	return killed
}
