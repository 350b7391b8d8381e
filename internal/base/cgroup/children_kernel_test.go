//go:build kernel

package cgroup_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/testrun"
)

// TestLimitMemoryToChildren: files in memory that cgroups of a pod leave behind, one after the other, count for the pod
// when they are gone. Without a limit of the pod there is no end of them.
func TestLimitMemoryToChildren(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	const each, leaves, most = 32 << 20, 24, 8
	pod := fmt.Sprintf("/mullion-test-left-%d", os.Getpid())
	t.Cleanup(func() { remove(t, pod+"/stays", pod+"/open", pod) })
	if err := cgroup.LimitMemory(pod+"/stays", each); errors.Is(err, cgroup.ErrNoController) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}

	// in runs a script in a cgroup, which goes on when its input is closed.
	in := func(name, script string) (goOn func() error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c",
			"echo $$ > "+folderOf("memory", name)+"/cgroup.procs && echo in && read x; "+script)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(stdout, make([]byte, len("in\n"))); err != nil {
			t.Fatal(err)
		}
		return func() error { return errors.Join(stdin.Close(), cmd.Wait()) }
	}
	defer func(end func() error) { _ = end() }(in(pod+"/stays", "exit"))

	// left returns how many leave their file, of the most.
	left := func(limited bool) int {
		files := filepath.Join("/dev/shm", fmt.Sprintf("mullion-test-left-%d-%t", os.Getpid(), limited))
		if err := os.Mkdir(files, 0o700); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(files)

		for i := range most {
			name := fmt.Sprintf("%s/leaves-%d", pod, i)
			if err := cgroup.LimitMemory(name, each); err != nil {
				t.Fatal(err)
			}

			goOn := in(name, fmt.Sprintf("head -c %dM /dev/zero > %s/%d", leaves, files, i))
			if limited {
				if err := cgroup.LimitMemoryToChildren(pod, 0); err != nil {
					t.Fatal(err)
				}
			}

			err := goOn()
			killAll(t, folderOf("memory", name)) // the kernel may have killed the shell, and not yet what it waits for
			remove(t, name)
			if err != nil {
				return i
			}
		}
		return most
	}

	if got := left(false); got != most {
		t.Errorf("control: %d of %d leave %d MiB each where the pod has no limit", got, most, leaves)
	}
	if got := left(true); got < 1 || (got+1)*leaves > 2*each>>20+leaves {
		t.Errorf("%d leave %d MiB each in a pod whose containers may hold %d", got, leaves, 2*each>>20)
	}

	// One without a limit takes the pod's.
	if err := os.MkdirAll(filepath.Join(folderOf("memory", pod), "open"), 0o755); err != nil {
		t.Fatal(err)
	}
	defer func(end func() error) { _ = end() }(in(pod+"/open", "exit"))
	if err := cgroup.LimitMemoryToChildren(pod, 0); err != nil {
		t.Fatal(err)
	}
	if got := left(false); got != most {
		t.Errorf("where one has no limit, %d of %d leave theirs", got, most)
	}
}

// TestRefusedLimitKeepsSwap: a limit below what a cgroup holds is refused by cgroup v1, and what the cgroup has is then
// kept from the machine's swap as before.
func TestRefusedLimitKeepsSwap(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	const most, holds, less = 32 << 20, 24, 4 << 20
	name := fmt.Sprintf("/mullion-test-swap-%d", os.Getpid())
	t.Cleanup(func() { remove(t, name) })
	if err := cgroup.LimitMemory(name, most); err != nil {
		t.Fatal(err)
	}
	dir := folderOf("memory", name)
	if !exists(filepath.Join(dir, "memory.memsw.limit_in_bytes")) {
		t.Skip("needs cgroup v1 that counts swap")
	}

	file := filepath.Join("/dev/shm", fmt.Sprintf("mullion-test-swap-%d", os.Getpid()))
	t.Cleanup(func() { _ = os.Remove(file) })
	script := fmt.Sprintf("echo $$ > %s/cgroup.procs && head -c %dM /dev/zero > %s", dir, holds, file)
	if err := exec.CommandContext(t.Context(), "sh", "-c", script).Run(); err != nil {
		t.Fatal(err)
	}

	if err := cgroup.LimitMemory(name, less); err == nil {
		t.Skip("the kernel took the lower limit: there is a swap for it")
	}
	text, err := os.ReadFile(filepath.Join(dir, "memory.memsw.limit_in_bytes"))
	if got := strings.TrimSpace(string(text)); err != nil || got != strconv.Itoa(most) {
		t.Errorf("memory and swap are limited to %s, %v; want %d", got, err, most)
	}
}
