//go:build kernel

package cgroup_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/netns"
)

// TestPlace: a program starts in the cgroup of a host's programs, counts against the node's, and neither the caller nor
// the caller's next program does.
func TestPlace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	node := fmt.Sprintf("/mullion-test-place-%d", os.Getpid())
	own := node + "/" + cgroup.Own
	t.Cleanup(func() { remove(t, own, node) })
	const limit = 96 << 20
	err := cgroup.LimitMemory(node, limit)
	if errors.Is(err, cgroup.ErrNoController) {
		t.Skip(err)
	}

	if err != nil {
		t.Fatal(err)
	}
	if err := cgroup.MakeOwn(node); err != nil {
		t.Fatal(err)
	}

	files, err := cgroup.FindMemoryFiles(node)
	if err != nil {
		t.Fatal(err)
	}

	number := func(file string) (n int64) {
		text, err := os.ReadFile(file)
		if _, scan := fmt.Sscan(string(text), &n); err != nil || scan != nil {
			t.Fatalf("%s: %q, %v", file, text, err)
		}
		return n
	}

	if got := number(files.Limit); got != limit {
		t.Errorf("the limit is %d, want %d", got, limit)
	}

	before := number(files.Usage)
	// tail keeps in memory what has no line ends, until the pipe is closed
	cmd := exec.Command("sh", "-c", "(head -c 32M /dev/zero; echo; echo ready >&2; sleep 300) | tail -n 1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := netns.OnThread(func() error {
		file, err := cgroup.Place(cmd, own)
		if err != nil {
			return err
		}
		defer file.Close()
		return cmd.Start()
	}); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		killAll(t, folderOf("memory", own))
		_ = cmd.Wait()
	})
	if _, err := stderr.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}

	place := func(pid any) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%v/cgroup", pid))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	if got := place(cmd.Process.Pid); !strings.Contains(got, ":"+own+"\n") {
		t.Errorf("it is in %q", got)
	}

	next, err := exec.Command("cat", "/proc/self/cgroup").Output()
	if err != nil || strings.Contains(string(next), node) || strings.Contains(place("self"), node) {
		t.Errorf("the caller is in %q, and its next program in %q (%v)", place("self"), next, err)
	}

	if used := number(files.Usage) - before; used < 32<<20 {
		t.Errorf("it uses %d bytes, and took 32 MiB", used)
	}
	if _, err := cgroup.FindMemoryFiles("/mullion-test-is-not-there"); !errors.Is(err, cgroup.ErrNoController) {
		t.Errorf("the memory of a cgroup that is not there: %v", err)
	}
}
