//go:build wine

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/test/built"
)

// room is what all tests share: a data folder, with its engine, and the test program.
type room struct {
	dir, data, bin string
	paths          single.Paths
	err            error
}

var (
	shared     room
	sharedOnce sync.Once
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.down(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// theRoom makes the shared parts once. The engine is started by the first run.
func theRoom(t *testing.T) *room {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("these tests need root")
	}
	bin := built.Dir(t)
	sharedOnce.Do(func() { shared.err = shared.up(bin) })
	if shared.err != nil {
		t.Fatalf("set up: %v", shared.err)
	}
	return &shared
}

func (r *room) up(bin string) error {
	var err error
	if r.dir, err = os.MkdirTemp("", "mullion-run-test-"); err != nil {
		return err
	}

	r.bin, r.data = bin, filepath.Join(r.dir, "data")
	r.paths = single.At(r.data, bin)
	app := filepath.Join(r.dir, "app")
	if err := os.Mkdir(app, 0o755); err != nil {
		return err
	}

	build := exec.Command("go", "build", "-o", filepath.Join(app, "prog.exe"), "./testdata/prog")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build test program: %w\n%s", err, out)
	}

	return nil
}

// program returns the test program on this machine.
func (r *room) program() string { return filepath.Join(r.dir, "app", "prog.exe") }

// down ends the engine and looks at what it has left.
func (r *room) down() error {
	if r.dir == "" {
		return nil
	}
	err := r.end()
	// The keeper leaves its cgroup before it removes it.
	if !within(5*time.Second, func() bool { return r.left() == "" }) {
		err = errors.Join(err, fmt.Errorf("the engine has left %s", r.left()))
	}
	return errors.Join(err, os.RemoveAll(r.dir), os.RemoveAll(r.paths.Run()))
}

// engine returns the engine's processes: the keeper, the server, containerd and what it has started.
func (r *room) engine() []proc.Leftover {
	found, err := proc.Leftovers(proc.Mark{Cgroups: []string{r.paths.CgroupParent(), r.paths.OwnCgroup()}})
	if err != nil {
		return nil
	}
	return found
}

// process returns the engine's process whose arguments end so.
func (r *room) process(last func(args []string) bool) int {
	for _, l := range r.engine() {
		if last(l.Args) {
			return l.PID
		}
	}
	return 0
}

func isKeeper(args []string) bool { return len(args) > 1 && args[len(args)-1] == "run-engine" }

func isServer(args []string) bool {
	return strings.Contains(strings.Join(args, " "), "run-engine --server")
}

func isInit(args []string) bool { return len(args) > 0 && args[0] == "/sbin/mullion-init" }

// end asks the engine to end, and waits until it has.
func (r *room) end() error {
	if pid := r.process(isKeeper); pid > 0 {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			return err
		}
	}
	if !within(20*time.Second, func() bool { return len(r.engine()) == 0 }) {
		return fmt.Errorf("the engine does not end: %v", r.engine())
	}
	return nil
}

// left returns what is on the machine without an engine, but for the data folder; "" is nothing.
func (r *room) left() string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err.Error()
	}
	if strings.Contains(string(mounts), r.paths.Run()) || strings.Contains(string(mounts), r.data) {
		return "mounts: " + string(mounts)
	}
	for _, pattern := range []string{"/sys/fs/cgroup/*" + r.paths.CgroupParent() + "*", r.paths.Run() + "/*/*"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return fmt.Sprint(found)
		}
	}
	return ""
}

// within reports whether a condition holds in time.
func within(limit time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		if ok() {
			return true
		}
		<-time.After(10 * time.Millisecond)
	}
	return ok()
}

// result is how a command ended.
type result struct {
	out, err string
	code     int
}

// command is `mullion run` with arguments.
func (r *room) command(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{"--data-dir", r.data, "run"}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(r.bin, "mullion"), args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "OUTSIDE=seen")
	return cmd
}

// run runs one to its end.
func (r *room) run(t *testing.T, input string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	cmd := r.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdin = strings.NewReader(input)
	cmd.Stdout = &out
	cmd.Stderr = &errs
	_ = cmd.Run() // the code is looked at
	if ctx.Err() != nil {
		t.Fatalf("mullion run %q does not end: %s%s", args, &out, &errs)
	}
	plain := func(b bytes.Buffer) string { return strings.ReplaceAll(b.String(), "\r\n", "\n") }
	return result{
		out:  plain(out),
		err:  plain(errs),
		code: cmd.ProcessState.ExitCode(),
	}
}

// running is a run in the background that has said something.
type running struct {
	cmd *exec.Cmd
	out *lines
	err *bytes.Buffer
}

// begin starts a run, and waits until the program says that it waits.
func (r *room) begin(t *testing.T, args ...string) running {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	t.Cleanup(cancel)
	b := running{
		cmd: r.command(ctx, args...),
		out: &lines{},
		err: &bytes.Buffer{},
	}

	b.cmd.Stdout, b.cmd.Stderr = b.out, b.err
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !within(30*time.Second, func() bool { return strings.Contains(b.out.String(), "waiting") }) {
		_ = b.cmd.Process.Kill()
		t.Fatalf("the program does not run: %s%s", b.out, b.err)
	}

	return b
}

func (b running) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := b.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the end.
func (b running) ends(t *testing.T) result {
	t.Helper()
	_ = b.cmd.Wait() // the code is looked at
	out := strings.ReplaceAll(b.out.String(), "\r\n", "\n")
	return result{
		out:  out,
		err:  b.err.String(),
		code: b.cmd.ProcessState.ExitCode(),
	}
}

// lines is an output that is read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
