//go:build kernel

package cgroup_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/netns"
)

// TestWeighHolds: on one processor, what has ten times the weight gets most of the time, and gets it by Prefer as by
// Enter.
func TestWeighHolds(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	parent := fmt.Sprintf("/mullion-test-weight-%d", os.Getpid())
	first, last := parent+"/@first", parent+"/last"
	t.Cleanup(func() { remove(t, first, last, parent) })
	for name, share := range map[string]int64{parent: 1000, first: 1000, last: cgroup.UsualShare} {
		err := cgroup.Weigh(name, cgroup.Weight{Share: share})
		if errors.Is(err, cgroup.ErrNoController) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range []string{first, last} {
		if there, err := cgroup.There(name); err != nil || !there {
			t.Errorf("There(%q) = %t, %v", name, there, err)
		}
	}

	if there, err := cgroup.There(parent + "/none"); err != nil || there {
		t.Errorf("There() of a cgroup that is not there = %t, %v", there, err)
	}

	rival, favourite := spin(t, last), spin(t, first)
	var gave, got time.Duration
	for deadline := time.Now().Add(20 * time.Second); got < time.Second && time.Now().Before(deadline); {
		<-time.After(50 * time.Millisecond)
		gave, got = used(t, rival), used(t, favourite)
	}
	if got < 4*gave { // ten times, and what the other had before both ran
		t.Errorf("with ten times the weight a program had %s of one processor, its rival %s", got, gave)
	}
}

// TestPreferWithoutCgroup: a cgroup that is not there keeps nothing from starting.
func TestPreferWithoutCgroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	for _, name := range []string{"", "/mullion-test-none/@agents"} {
		err := netns.OnThread(func() error {
			cmd := exec.CommandContext(t.Context(), "true")
			group, err := cgroup.Prefer(cmd, name)
			if err != nil {
				return err
			}
			defer group.Close()
			return cmd.Run()
		})
		if err != nil {
			t.Errorf("in cgroup %q: %v", name, err)
		}
	}
}

// spin starts a program that keeps the first processor busy, in a cgroup.
func spin(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "taskset", "-c", "0", "sh", "-c", "while :; do :; done")
	if err := netns.OnThread(func() error {
		group, err := cgroup.Prefer(cmd, name)
		if err != nil {
			return err
		}
		defer group.Close()
		return cmd.Start()
	}); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// used returns how much time of processors a program has had (proc_pid_stat(5)).
func used(t *testing.T, cmd *exec.Cmd) time.Duration {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "stat"))
	if err != nil {
		t.Fatal(err)
	}

	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const user, tick = 11, 10 * time.Millisecond
	n, err := strconv.Atoi(fields[user])
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(n) * tick
}
