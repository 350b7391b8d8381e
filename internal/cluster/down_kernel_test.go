//go:build kernel

package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
)

// Somebody else removes cgroups at the same time, as systemd does with a scope's; that is no error.
func TestKillCgroupsBesideOthers(t *testing.T) {
	root := "/sys/fs/cgroup/pids"
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		root = "/sys/fs/cgroup" // version 2
	}

	parent := fmt.Sprintf("/mullion-test-beside-%d", os.Getpid())
	for range 20 {
		for i := range 100 {
			if err := os.MkdirAll(filepath.Join(root, parent, strconv.Itoa(i)), 0o755); err != nil {
				t.Fatal(err)
			}
		}

		const several = 4
		done := make(chan error, several)
		for range several {
			go func() { done <- KillCgroups(t.Context(), parent) }()
		}

		for range several {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}

		if _, err := os.Stat(filepath.Join(root, parent)); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the cgroups are still there: %v", err)
		}
	}
}

// Who started a program in a cgroup of version 1 was there by a thread, and ends with it and not by what ends the
// program.
func TestKillCgroupsSparesItself(t *testing.T) {
	root := "/sys/fs/cgroup/memory"
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		t.Skip("on cgroup v2 a thread is where its process is")
	}
	parent := fmt.Sprintf("/mullion-test-itself-%d", os.Getpid())
	if err := os.Mkdir(root+parent, 0o755); err != nil {
		t.Fatal(err)
	}

	placed := make(chan error, 1)
	leave := make(chan struct{})
	left := make(chan error, 1)
	go func() {
		left <- netns.OnThread(func() error {
			err := os.WriteFile(root+parent+"/tasks", []byte(strconv.Itoa(unix.Gettid())), 0)
			placed <- err
			<-leave
			return err
		})
	}()

	if err := <-placed; err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { close(leave) })
	if err := KillCgroups(t.Context(), parent); err != nil {
		t.Error(err)
	}

	if err := <-left; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(root + parent); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cgroup is still there: %v", err)
	}
}

// What runs in a cluster's cgroups ends, the cgroups go, and others' stay.
func TestKillCgroups(t *testing.T) {
	root := "/sys/fs/cgroup/pids"
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		root = "/sys/fs/cgroup" // version 2
	}

	parent := fmt.Sprintf("/mullion-test-%d", os.Getpid())
	inner, other := filepath.Join(root, parent, "node", "container"), filepath.Join(root, parent+"-other")
	for _, dir := range []string{inner, other} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	t.Cleanup(func() {
		if err := os.Remove(other); err != nil {
			t.Error(err)
		}
	})
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(inner, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	if err := KillCgroups(t.Context(), parent); err != nil {
		t.Fatal(err)
	}

	var exit *exec.ExitError
	if err := <-waited; !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the process ended with %v", err)
	}
	if left, err := filepath.Glob("/sys/fs/cgroup/*" + parent); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	if _, err := os.Stat(other); err != nil {
		t.Errorf("another's cgroup: %v", err)
	}
	if err := KillCgroups(t.Context(), parent); err != nil {
		t.Errorf("with nothing there: %v", err)
	}
}

// A container that starts processes for ever ends in bounded time.
func TestKillCgroupsEndsForks(t *testing.T) {
	root := "/sys/fs/cgroup/pids"
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		root = "/sys/fs/cgroup" // version 2
	}
	parent := fmt.Sprintf("/mullion-test-forks-%d", os.Getpid())
	dir := filepath.Join(root, parent, "node", "container")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "pids.max"), []byte("300"), 0); err != nil {
		t.Skipf("the machine's cgroups do not bound the bomb: %v", err)
	}
	perl, err := exec.LookPath("perl")
	if err != nil {
		t.Skip("needs perl")
	}

	bomb := `open(F, ">", "$ARGV[0]/cgroup.procs"); print F $$; close(F) or die; while (1) { fork }`
	cmd := exec.CommandContext(t.Context(), perl, "-e", bomb, dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	for begin := time.Now(); ; {
		procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(procs), "\n") > 100 {
			break
		}

		if time.Since(begin) > 10*time.Second {
			t.Fatal("the processes do not start")
		}
	}

	if err := KillCgroups(t.Context(), parent); err != nil {
		t.Error(err)
	}
	<-waited
	if left, err := filepath.Glob("/sys/fs/cgroup/*" + parent); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestUnmountBelow holds that what is mounted in a folder goes, deepest first, under names with blanks too, and what is
// mounted at the folder itself or beside it stays.
func TestUnmountBelow(t *testing.T) {
	top := filepath.Join(t.TempDir(), "top of all")
	beside := top + "2"
	outer := filepath.Join(top, "outer")
	inner := filepath.Join(outer, "inner\twith\\all")
	mount := func(dir string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }) // the test may have done so
	}
	mount(top)
	mount(beside)
	mount(outer)
	mount(inner)
	points, err := mountsBelow(top)
	if diff := cmp.Diff([]string{inner, outer}, points); diff != "" || err != nil {
		t.Errorf("%v; -want +got:\n%s", err, diff)
	}

	mount(outer) // over what is there, which hides inner
	if err := unmountBelow(top); err != nil {
		t.Fatal(err)
	}
	if points, err := mountsBelow(filepath.Dir(top)); len(points) != 2 || err != nil {
		t.Errorf("left are %q, %v", points, err)
	}
}
