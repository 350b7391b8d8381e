//go:build linux

package proc_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

var _ component.Component = (*proc.Process)(nil)

// helper makes the test binary act as a supervisor that a test can kill; its value is the marker.
var helper = flag.String("helper", "", "be a supervisor of one sleeping child, with this marker")

func TestMain(m *testing.M) {
	flag.Parse()
	if *helper == "" {
		m.Run()
		return
	}

	p := proc.New(proc.Spec{
		ID:     component.Sole("sleeper"),
		Path:   "/bin/sleep",
		Args:   []string{"1000"},
		Marker: *helper,
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	if err := p.Start(ctx); err != nil {
		fmt.Println("helper:", err)
		return
	}
	// Goroutines that lock their thread end the thread with themselves: the child must not be affected.
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { runtime.LockOSThread() })
	}

	wg.Wait()
	fmt.Println("pid", p.State().PID)
	<-ctx.Done()
}

// eventually polls until ok, and fails the test after ten seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		if ok() {
			return
		}
	}
	t.Fatalf("waited 10 s in vain: %s", what)
}

func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// shell returns the specification of a process that runs a shell script.
func shell(t *testing.T, script string) proc.Spec {
	t.Helper()
	return proc.Spec{
		ID:      component.OfNode("test", "shell"),
		Path:    "/bin/sh",
		Args:    []string{"-c", script},
		Env:     []string{"PATH=/usr/bin:/bin"},
		Restart: proc.Restart{Min: 10 * time.Millisecond},
	}
}

// started starts a process, and stops it when the test ends.
func started(t *testing.T, spec proc.Spec) *proc.Process {
	t.Helper()
	p := proc.New(spec)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestKilledChildIsStartedAgain(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	spec := shell(t, "exec sleep 1000")
	var phases []proc.Phase
	spec.Notify = func(s proc.State) { phases = append(phases, s.Phase) }
	p := started(t, spec)
	first := p.State()
	if first.Phase != proc.Running || !alive(first.PID) || first.Restarts != 0 {
		t.Fatalf("after the start: %+v", first)
	}

	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new child runs", func() bool {
		s := p.State()
		return s.Phase == proc.Running && s.PID != first.PID && s.Restarts == 1 && alive(s.PID)
	})

	last := p.State()
	if last.Err == nil || !strings.Contains(last.Err.Error(), "signal: killed") {
		t.Errorf("the state does not tell why the child died: %v", last.Err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	if alive(last.PID) {
		t.Error("the child is alive after Stop")
	}
	if got := p.State(); got.Phase != proc.Stopped || got.PID != 0 {
		t.Errorf("after Stop: %+v", got)
	}

	var distinct []proc.Phase
	for _, ph := range phases {
		if len(distinct) == 0 || distinct[len(distinct)-1] != ph {
			distinct = append(distinct, ph)
		}
	}

	want := []proc.Phase{
		proc.Idle, proc.Starting, proc.Running, proc.BackingOff, proc.Starting, proc.Running,
		proc.Stopped,
	}
	if distinct[0] == proc.Starting {
		want = want[1:]
	}

	if diff := cmp.Diff(want, distinct); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
}

func TestStartAgainAfterStop(t *testing.T) {
	p := started(t, shell(t, "exec sleep 1000"))
	if err := p.Start(t.Context()); err == nil {
		t.Fatal("a second Start of a running process is no error")
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatalf("start after stop: %v", err)
	}
}

func TestDeathBeforeReadyIsAnErrorWithTheLastLines(t *testing.T) {
	spec := shell(t, "i=0; while [ $i -lt 30 ]; do echo line $i; i=$((i+1)); done; echo bad flag >&2; exit 3")
	spec.Ready = func(context.Context) error { return errors.New("not listening") }
	spec.LogPath = filepath.Join(t.TempDir(), "new", "shell.log")
	p := proc.New(spec)
	err := p.Start(t.Context())
	var runErr *proc.RunError
	if !errors.As(err, &runErr) {
		t.Fatalf("got %v, want a RunError", err)
	}

	if got, want := runErr.Output[len(runErr.Output)-1], "bad flag"; got != want {
		t.Errorf("last line: got %q, want %q", got, want)
	}
	if got, want := len(runErr.Output), 12; got != want {
		t.Errorf("got %d lines, want %d", got, want)
	}

	for _, part := range []string{"test/shell", "/bin/sh -c", "exit status 3", "bad flag"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %v", part, err)
		}
	}

	if got := p.State(); got.Phase != proc.Failed || got.Restarts != 0 || got.PID != 0 {
		t.Errorf("state: %+v", got)
	}
	log, err := os.ReadFile(spec.LogPath)
	if err != nil || strings.Count(string(log), "\n") != 31 {
		t.Errorf("log has %d lines, want 31 (%v)", strings.Count(string(log), "\n"), err)
	}
}

// A program of Go that panics says why before its stack, which would push it out of the last lines.
func TestLastLinesHaveNoStack(t *testing.T) {
	const stack = "panic: unrecognized feature gate: No\n\ngoroutine 1 [running]:\n" +
		"main.run({0x1, 0x2})\n\t/src/main.go:12 +0x5\nmain.main()\n\t/src/main.go:7 +0x1d\n"
	for name, tt := range map[string]struct{ script, last string }{
		"at its end": {"printf '" + stack + "'; exit 2", "panic: unrecognized feature gate: No"},
		"before":     {"printf '" + stack + "'; echo recovered; exit 2", "recovered"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := shell(t, tt.script)
			spec.Ready = func(context.Context) error { return errors.New("not listening") }
			var runErr *proc.RunError
			if err := proc.New(spec).Start(t.Context()); !errors.As(err, &runErr) {
				t.Fatalf("got %v, want a RunError", err)
			}
			if got := runErr.Output[len(runErr.Output)-1]; got != tt.last {
				t.Errorf("last line: got %q, want %q", got, tt.last)
			}
		})
	}
}

func TestNotReadyInTimeIsAnError(t *testing.T) {
	spec := shell(t, "echo here; exec sleep 1000")
	spec.Ready = func(context.Context) error { return errors.New("nobody listens") }
	spec.ReadyTimeout, spec.ReadyInterval = 200*time.Millisecond, 10*time.Millisecond
	var pid int
	spec.Notify = func(s proc.State) {
		if s.PID != 0 {
			pid = s.PID
		}
	}

	err := proc.New(spec).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "nobody listens") ||
		!strings.Contains(err.Error(), "it was not ready within ") {
		t.Fatalf("got %v", err)
	}
	if pid == 0 || alive(pid) {
		t.Errorf("pid %d was left alive", pid)
	}
}

func TestCancelledStartLeavesNoChild(t *testing.T) {
	spec := shell(t, "exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	spec.Ready = func(context.Context) error { cancel(); return errors.New("not yet") }
	p := proc.New(spec)
	if err := p.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want cancelled", err)
	}
	if got := p.State(); got.PID != 0 || got.Phase != proc.Stopped {
		t.Fatalf("state: %+v", got)
	}
}

func TestRestartPolicy(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	t.Run("never", func(t *testing.T) {
		spec := shell(t, "exec sleep 1000")
		spec.Restart.Never = true
		p := started(t, spec)
		if err := syscall.Kill(p.State().PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}

		<-p.Done()
		if got := p.State(); got.Phase != proc.Failed || got.Restarts != 0 {
			t.Fatalf("state: %+v", got)
		}
	})

	t.Run("no-restart-error", func(t *testing.T) {
		spec := shell(t, "exec sleep 1000")
		starts := 0
		spec.Starter = func(_ context.Context, cmd *exec.Cmd) error {
			starts++
			if starts == 2 {
				return proc.NoRestart(errors.New("the disk is gone"))
			}
			return cmd.Start()
		}

		p := started(t, spec)
		if err := syscall.Kill(p.State().PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		got := p.State()
		if got.Phase != proc.Failed || starts != 2 || !strings.Contains(got.Err.Error(), "the disk is gone") {
			t.Fatalf("state after %d starts: %+v", starts, got)
		}
	})

	t.Run("backs-off", func(t *testing.T) {
		// Ready once, then it dies at each start: the pauses must grow.
		flagFile := filepath.Join(t.TempDir(), "ran")
		spec := shell(t, "if [ -e "+flagFile+" ]; then exit 1; fi; touch "+flagFile+"; exec sleep 1000")
		spec.Ready = func(context.Context) error { _, err := os.Stat(flagFile); return err }
		spec.Restart = proc.Restart{Min: 20 * time.Millisecond, Max: time.Minute}
		p := started(t, spec)
		begin := time.Now()
		if err := syscall.Kill(p.State().PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}

		eventually(t, "four restarts", func() bool { return p.State().Restarts >= 4 })
		if got, least := time.Since(begin), (20+40+80+160)*time.Millisecond; got < least {
			t.Fatalf("four restarts took %s, want at least %s", got, least)
		}
	})
}

func TestStubbornChildIsKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	marker := filepath.Join(t.TempDir(), "trapped")
	spec := shell(t, "trap '' TERM; touch "+marker+"; while :; do sleep 0.05; done")
	spec.Ready = func(context.Context) error { _, err := os.Stat(marker); return err }
	spec.StopTimeout = 100 * time.Millisecond
	p := started(t, spec)
	pid := p.State().PID
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Fatal("it lives")
	}
}

func TestStopDoesNotOutlastItsContext(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "trapped")
	spec := shell(t, "trap '' TERM; touch "+marker+"; while :; do sleep 0.05; done")
	spec.Ready = func(context.Context) error { _, err := os.Stat(marker); return err }
	spec.StopTimeout = time.Hour
	p := started(t, spec)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if got := p.State(); got.PID != 0 {
		t.Fatalf("state: %+v", got)
	}
}

func TestGrandchildWithThePipeDoesNotHoldTheEnd(t *testing.T) {
	p := started(t, shell(t, "sleep 3 & exec sleep 1000"))
	begin := time.Now()
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Fatalf("stop took %s", took)
	}
}

func TestEnvironmentIsOnlyWhatWasGiven(t *testing.T) {
	spec := shell(t, "env; exec sleep 1000")
	spec.Marker, spec.Dir = "/some/folder", t.TempDir()
	spec.LogPath = filepath.Join(t.TempDir(), "env.log")
	started(t, spec)
	want := "MULLION_CLUSTER=/some/folder\nPATH=/usr/bin:/bin\nPWD=" + spec.Dir + "\n"
	var got string
	eventually(t, "the environment is in the log", func() bool {
		log, err := os.ReadFile(spec.LogPath)
		if err != nil {
			t.Fatal(err)
		}

		lines := strings.SplitAfter(string(log), "\n")
		var kept []string
		for _, l := range lines {
			if !strings.HasPrefix(l, "_=") && !strings.HasPrefix(l, "OLDPWD=") {
				kept = append(kept, l)
			}
		}

		got = strings.Join(slices.Sorted(slices.Values(kept)), "")
		return strings.Count(got, "\n") >= 3
	})

	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("environment (-want +got):\n%s", diff)
	}
}

func TestLogIsRotated(t *testing.T) {
	spec := shell(t, "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; echo end; exec sleep 1000")
	spec.LogPath, spec.LogSize = filepath.Join(t.TempDir(), "big.log"), 1000
	started(t, spec)
	eventually(t, "the last line is in the log", func() bool {
		log, err := os.ReadFile(spec.LogPath)
		return err == nil && strings.HasSuffix(string(log), "end\n")
	})

	files, err := filepath.Glob(spec.LogPath + "*")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 2 || len(files) > 3 {
		t.Fatalf("files: %q", files)
	}
}

func TestParentDeathKillsTheChildAndLeftoversAreFound(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	marker := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self, "-helper="+marker)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "pid ")))
	if err != nil {
		t.Fatalf("helper said %q", line)
	}

	found, err := proc.Labelled(marker)
	if err != nil {
		t.Fatal(err)
	}
	want := []proc.Leftover{{PID: pid, PPID: cmd.Process.Pid, Args: []string{"/bin/sleep", "1000"}}}
	if diff := cmp.Diff(want, found, cmpopts.IgnoreFields(proc.Leftover{}, "Cgroups")); diff != "" {
		t.Fatalf("leftovers (-want +got):\n%s", diff)
	}

	if len(found[0].Cgroups) == 0 || !strings.HasPrefix(found[0].Cgroups[0], "/") {
		t.Errorf("its cgroups are %q", found[0].Cgroups)
	}
	if !alive(pid) {
		t.Fatal("the child died with a thread that was not its own")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	_ = cmd.Wait()
	eventually(t, "the child of the killed supervisor is gone", func() bool { return !alive(pid) })
}
