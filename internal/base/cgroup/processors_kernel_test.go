//go:build kernel

package cgroup_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/cgroup"
)

// TestProcessorsHold: of two that keep one processor busy, the one whose cgroup was given more gets most of the time
// from then on, and what was counted is what it had.
func TestProcessorsHold(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	parent := fmt.Sprintf("/mullion-test-processors-%d", os.Getpid())
	first, last := parent+"/first", parent+"/last"
	t.Cleanup(func() { remove(t, first, last, parent) })
	for _, name := range []string{parent, first, last} {
		err := cgroup.Weigh(name, cgroup.Weight{Share: cgroup.UsualShare})
		if errors.Is(err, cgroup.ErrNoController) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	p, err := cgroup.FindProcessors()
	if err != nil {
		t.Fatal(err)
	}
	rival, favourite := spin(t, last), spin(t, first)
	if err := p.Weigh(first, 50*cgroup.UsualShare); err != nil {
		t.Fatal(err)
	}

	counts(t, first, favourite.Process.Pid)
	before, began := used(t, rival), used(t, favourite)
	var gave, got time.Duration
	for deadline := time.Now().Add(20 * time.Second); got < time.Second && time.Now().Before(deadline); {
		<-time.After(50 * time.Millisecond)
		gave, got = used(t, rival)-before, used(t, favourite)-began
	}

	if got < 8*gave {
		t.Errorf("with fifty times the weight a program had %s of one processor, its rival %s", got, gave)
	}
	if counted, err := p.Time(first); err != nil || counted < got || counted > 2*(got+began)+time.Second {
		t.Errorf("Time() = %s, %v; the program says %s", counted, err, used(t, favourite))
	}
}

// counts has the kernel count a program's time for a cgroup.
func counts(t *testing.T, name string, pid int) {
	t.Helper()
	dir := folderOf("cpuacct", "") + name
	if exists(filepath.Join(dir, "cpu.stat")) || exists(filepath.Join(dir, "cpuacct.usage")) {
		return // on cgroup v2, or where the controller is mounted with that which weighs
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		t.Fatal(err)
	}
}
