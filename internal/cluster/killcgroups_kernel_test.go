//go:build kernel

package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/procfile"
	"mullion.dev/mullion/internal/base/testrun"
)

// inCgroup names the cgroup that a process of these tests is in; its argument says how.
const inCgroup = "TEST_IN_CGROUP"

func init() { //nolint:gochecknoinits // only this is sure to run on the first thread
	if os.Getenv(inCgroup) != "" {
		runtime.LockOSThread() // main runs on the first thread
	}
}

// beInCgroup is in a cgroup by a thread, until the input says more, or whole and without its first thread.
func beInCgroup(dir, how string) error {
	in := bufio.NewReader(os.Stdin)
	if how == "visits" {
		err := netns.OnThread(func() error {
			err := os.WriteFile(filepath.Join(dir, "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0)
			fmt.Println("there")
			_, _ = in.ReadString('\n')
			return err
		})
		_, _ = in.ReadString('\n')
		return err
	}

	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
		return err
	}
	go func() {
		for procfile.Stat(os.Getpid())[0] != "Z" {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("there")
		_, _ = in.ReadString('\n')
		os.Exit(0)
	}()
	_, _, err := unix.Syscall(unix.SYS_EXIT, 0, 0, 0) // the thread alone
	return err
}

// startInCgroup starts a process that is in a cgroup, and waits until it is.
func startInCgroup(t *testing.T, dir, how string) (cmd *exec.Cmd, say func()) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], how)
	cmd.Env = append(os.Environ(), inCgroup+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "there\n" {
		t.Fatalf("it says %q, %v", line, err)
	}
	return cmd, func() {
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Error(err)
		}
	}
}

// TestKillCgroupsSparesVisitors: a supervisor starts a node's programs on threads that are in the node's cgroup. Who
// switches the node off, another process, ends what lives in the cgroup, and not the supervisor.
func TestKillCgroupsSparesVisitors(t *testing.T) {
	testrun.Once(t, "a supervisor that is killed once is")
	const root = "/sys/fs/cgroup/memory"
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		t.Skip("on cgroup v2 a thread is where its process is")
	}
	parent := fmt.Sprintf("/mullion-test-visited-%d", os.Getpid())
	if err := os.Mkdir(root+parent, 0o755); err != nil {
		t.Fatal(err)
	}

	visitor, say := startInCgroup(t, root+parent, "visits")
	time.AfterFunc(100*time.Millisecond, say) // it leaves
	if err := KillCgroups(t.Context(), parent); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(root + parent); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cgroup is still there: %v", err)
	}

	say() // it ends
	if err := visitor.Wait(); err != nil {
		t.Errorf("the visitor: %v", err)
	}
}

// TestKillCgroupsEndsTheHeadless: a process whose first thread has ended, as a container's program can bring about, is
// no visitor.
func TestKillCgroupsEndsTheHeadless(t *testing.T) {
	testrun.Once(t, "an attack that succeeds once succeeds")
	root := "/sys/fs/cgroup/memory"
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		root = "/sys/fs/cgroup"
	}
	parent := fmt.Sprintf("/mullion-test-headless-%d", os.Getpid())
	if err := os.Mkdir(root+parent, 0o755); err != nil {
		t.Fatal(err)
	}

	cmd, _ := startInCgroup(t, root+parent, "headless")
	if err := KillCgroups(t.Context(), parent); err != nil {
		t.Error(err)
	}

	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", err)
	}
}
