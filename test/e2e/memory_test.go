//go:build cluster

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// mostOfSupervisor is what the supervisor may have of the machine's memory, in MB (RSS): a fifth more than it is meant
// to have at most, as the kernel maps pages of programs by its own lights.
const mostOfSupervisor = 48

// memory holds the supervisor to its bound. It gives back what it has used again and again (package memtrim); what it
// has kept for three minutes is its own.
func (c cluster) memory(t *testing.T) {
	t.Helper()
	pids := c.matching(` supervise `)(t)
	if len(pids) != 1 {
		t.Fatalf("the cluster has the supervisors %v", pids)
	}

	until(t, 3*time.Minute, func() error {
		mb, err := rss(pids[0])
		if err == nil && mb > mostOfSupervisor {
			err = fmt.Errorf("the supervisor has %d MB, more than %d", mb, mostOfSupervisor)
		}
		if err == nil {
			t.Logf("the supervisor has %d MB", mb)
		}
		return err
	})
}

// rss returns what a process has of the machine's memory, in MB (proc_pid_status(5)).
func rss(pid int) (int, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}

	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "VmRSS:" {
			kib, err := strconv.Atoi(fields[1])
			return kib << 10 / 1e6, err
		}
	}

	return 0, fmt.Errorf("process %d says nothing of its memory", pid)
}
