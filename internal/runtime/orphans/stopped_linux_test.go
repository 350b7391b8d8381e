package orphans

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const stillEnv = "ORPHANS_TEST_STILL"

func TestMain(m *testing.M) {
	if os.Getenv(stillEnv) != "" {
		for range 2 { // one of both is not the first thread
			go func() {
				runtime.LockOSThread()
				if tid := syscall.Gettid(); tid != os.Getpid() {
					fmt.Println(tid)
				}
				for {
					time.Sleep(time.Hour)
				}
			}()
		}

		for {
			time.Sleep(10 * time.Millisecond)
		}
	}

	os.Exit(m.Run())
}

// trace does with a thread what Wine's server does whose patience has ended; the thread stays traced until the end of
// the calling thread.
func trace(t *testing.T, tid int) {
	t.Helper()
	if err := syscall.PtraceAttach(tid); err != nil {
		t.Skipf("attach: %v", err) // not allowed to
	}
	for range 2 { // the signal, and the stop that it makes
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(tid, &status, syscall.WALL|syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			t.Fatal(status, err)
		}
		if err := syscall.PtraceCont(tid, int(syscall.SIGSTOP)); err != nil {
			t.Fatal(err)
		}
	}
}

func becomes(pid int, want func(byte) bool) bool {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if want(state("/proc/" + strconv.Itoa(pid))) {
			return true
		}
	}
	return false
}

func TestLetGoOn(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), stillEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}

	pid := cmd.Process.Pid
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}

	tid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	stands := func(s byte) bool { return s == standing }
	goes := func(s byte) bool { return s == 'S' || s == 'R' }

	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil || !becomes(pid, stands) {
		t.Fatal(err)
	}
	letChildrenGoOn()
	LetAllGoOn()
	if LetGoOn(pid) || !stands(state("/proc/"+strconv.Itoa(pid))) {
		t.Error("a process that was stopped on purpose goes on")
	}

	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil || !becomes(pid, goes) {
		t.Fatal(err)
	}
	if LetGoOn(pid) {
		t.Error("a process that runs was let go on")
	}

	for _, tt := range []struct {
		name    string
		tid     int // the thread that is traced
		letGoOn func()
	}{
		{"child", tid, letChildrenGoOn},
		{"all", tid, LetAllGoOn},
		{"all, by the first thread", pid, LetAllGoOn},
	} {
		other := fmt.Sprintf("/proc/%d/task/%d", pid, tid+pid-tt.tid) // one that is not traced
		is := func(want func(byte) bool) func(byte) bool {
			return func(byte) bool { return want(state(other)) }
		}

		t.Run(tt.name, func(t *testing.T) {
			done := make(chan struct{})
			go func() { // the tracer is a thread
				defer close(done)
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				trace(t, tt.tid)
				if !becomes(pid, is(stands)) {
					t.Error("the process does not stand still")
				}

				// The last thread stops later.
				if !becomes(pid, is(func(s byte) bool { tt.letGoOn(); return goes(s) })) {
					t.Error("the process stands still")
				}

				if err := syscall.PtraceDetach(tt.tid); err != nil { // a thread has to stand for it
					_ = syscall.Tgkill(pid, tt.tid, syscall.SIGSTOP)
					var status syscall.WaitStatus
					_, _ = syscall.Wait4(tt.tid, &status, syscall.WALL|syscall.WUNTRACED, nil)
					_ = syscall.PtraceDetach(tt.tid)
				}
			}()
			<-done
		})
	}
}
