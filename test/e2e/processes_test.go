//go:build cluster

package e2e

import (
	"errors"
	"regexp"
	"syscall"
	"testing"
)

// kill sends SIGKILL to the cluster's processes whose command line matches, and returns how many there were.
func (c cluster) kill(t *testing.T, pattern string) map[int]string {
	t.Helper()
	match := regexp.MustCompile(pattern)
	killed := map[int]string{}
	for pid, command := range c.processes(t) {
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
