//go:build kernel

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/cluster/hold"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/process/supervisor"
)

// TestMain is also the supervisor that Up starts. It has one unit; TEST_UNIT says how that unit starts. With
// TEST_IN_CGROUP it is a process in a cgroup.
func TestMain(m *testing.M) {
	if dir := os.Getenv(inCgroup); dir != "" {
		if err := beInCgroup(dir, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if i := slices.Index(os.Args, "--data-dir"); i > 0 && slices.Contains(os.Args, "supervise") {
		paths := layout.Paths{Data: os.Args[i+1]}
		if err := superviseOne(paths, os.Getenv("TEST_UNIT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func superviseOne(paths layout.Paths, how string) error {
	held := hold.Inherit(paths.Run(), heldDescriptor)
	if how == "ends" {
		return errors.New("the supervisor has no wish to live")
	}
	lock, err := os.OpenFile(paths.Lock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}

	if err := cgroup.Enter(paths.Cgroup(layout.Supervisor)); err != nil {
		return err
	}
	held.Release()
	return supervisor.Run(context.Background(), supervisor.Config{
		Socket:     paths.Socket(),
		Units:      []component.Unit{{Component: oneUnit(how)}},
		Log:        slog.New(slog.DiscardHandler),
		StartLimit: time.Minute,
	})
}

// oneUnit is a component that starts, fails to start, or never finishes its start.
type oneUnit string

// ID implements component.Component.
func (oneUnit) ID() component.ID { return component.Sole("one") }

// Start implements component.Component.
func (u oneUnit) Start(ctx context.Context) error {
	switch u {
	case "fails":
		return errors.New("the disk is full")
	case "leaves": // a program of which nobody is told, and that outlives its starter
		cmd := exec.Command("/bin/sleep", "1000")
		cmd.Env = []string{"A=b"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd.Start()
	case "hangs":
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// Stop implements component.Component.
func (oneUnit) Stop(context.Context) error { return nil }

// upOptions are of a new cluster whose supervisor is this program.
func upOptions(t *testing.T, how string) UpOptions {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	paths := layout.Paths{Data: filepath.Join(t.TempDir(), "data"), Bin: filepath.Dir(self)}
	t.Cleanup(func() {
		if err := Down(context.WithoutCancel(t.Context()), paths, func(string) {}); err != nil {
			t.Error(err)
		}
	})

	return UpOptions{
		Spec:       unusual(t),
		Paths:      paths,
		Executable: self,
		Environ:    []string{"TEST_UNIT=" + how},
		Progress:   func(Progress) {},
	}
}

// wantNothing checks that nothing of a cluster is left on the machine.
func wantNothing(t *testing.T, p layout.Paths) {
	t.Helper()
	for _, path := range []string{p.Data, p.Run()} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if locked(p) {
		t.Error("a supervisor is left")
	}
}

// Up starts a supervisor once, a second Up finds it, Stop keeps the cluster for the next Up, and Down leaves nothing.
func TestUpStopDown(t *testing.T) {
	o := upOptions(t, "starts")
	pid := func() int {
		t.Helper()
		c, err := Up(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if c.Networking.APIServerPort == 0 {
			t.Error("the cluster has no port")
		}

		status, err := supervisor.NewClient(o.Paths.Socket()).Status(t.Context())
		if err != nil || status.Phase != supervisor.PhaseReady {
			t.Fatalf("%+v, %v", status, err)
		}
		return status.PID
	}

	first := pid()
	if again := pid(); again != first {
		t.Errorf("a second Up started another supervisor: %d after %d", again, first)
	}
	if err := Stop(t.Context(), o.Paths, func(string) {}); err != nil {
		t.Fatal(err)
	}

	if locked(o.Paths) {
		t.Error("the supervisor lives after Stop")
	}
	if _, err := o.Paths.LoadSpec(); err != nil {
		t.Errorf("Stop took the cluster away: %v", err)
	}
	if next := pid(); next == first {
		t.Error("the stopped supervisor answers")
	}

	var said []string
	if err := Down(t.Context(), o.Paths, func(s string) { said = append(said, s) }); err != nil {
		t.Fatal(err)
	}
	if len(said) != len(stopSteps())+3 {
		t.Errorf("Down said %q", said)
	}

	wantNothing(t, o.Paths)
	said = nil
	err := Down(t.Context(), o.Paths, func(s string) { said = append(said, s) })
	if err != nil || len(said) != 1 || !strings.Contains(said[0], "nothing is up") {
		t.Errorf("a second Down: %q, %v", said, err)
	}
}

// Nothing is left of a new cluster that does not come up, unless it is to be kept or may still come up.
func TestUpFails(t *testing.T) {
	for _, how := range []string{"fails", "ends"} {
		o := upOptions(t, how)
		if _, err := Up(t.Context(), o); !errors.Is(err, ErrFailed) {
			t.Errorf("%s: %v", how, err)
		}
		wantNothing(t, o.Paths)
		o.Retain = true
		if _, err := Up(t.Context(), o); !errors.Is(err, ErrFailed) {
			t.Errorf("%s: %v", how, err)
		}

		if _, err := o.Paths.LoadSpec(); err != nil {
			t.Errorf("%s: of a cluster to be looked at: %v", how, err)
		}
	}

	o := upOptions(t, "hangs")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := Up(ctx, o); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "wait for") {
		t.Errorf("a cluster that takes longer: %v", err)
	}
	if !locked(o.Paths) {
		t.Error("its supervisor was ended, though it may still come up")
	}
}

// Up refuses the data folder of a join that was interrupted.
func TestUpAfterAJoin(t *testing.T) {
	o := upOptions(t, "starts")
	if err := o.Paths.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(o.Paths.JoinClaim()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Paths.JoinClaim(), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Up(t.Context(), o)
	wantConflict(t, err, "interrupted")
}

// Of two ups of one new folder with different files, one brings its cluster up, and the other gets a conflict, however
// they meet.
func TestTwoUps(t *testing.T) {
	for range 5 {
		first := upOptions(t, "starts")
		second := first
		second.Spec.Nodes = slices.Clone(first.Spec.Nodes)
		second.Spec.Nodes[0].Labels = map[string]string{"of": "second"}
		errs := make(chan error, 2)
		for _, o := range []UpOptions{first, second} {
			go func() {
				_, err := Up(t.Context(), o)
				errs <- err
			}()
		}

		one, other := <-errs, <-errs
		if one != nil {
			one, other = other, one
		}
		if one != nil {
			t.Errorf("neither came up: %v; %v", one, other)
		}

		wantConflict(t, other, "another specification")
		if !locked(first.Paths) {
			t.Error("no supervisor is left")
		}
		if err := Down(t.Context(), first.Paths, func(string) {}); err != nil {
			t.Error(err)
		}
	}
}

// An up that comes while the cluster is taken down waits, says for whom, and brings up a whole new one; and a down
// beside an up leaves nothing, whenever it comes.
func TestUpBesideDown(t *testing.T) {
	o := upOptions(t, "starts")
	if _, err := Up(t.Context(), o); err != nil {
		t.Fatal(err)
	}

	begun, told := make(chan struct{}), make(chan hold.Holder, 1)
	down := make(chan error, 1)
	var once sync.Once
	go func() {
		ctx := hold.As(t.Context(), hold.Caller{Command: "mullion down"})
		down <- Down(ctx, o.Paths, func(string) {
			once.Do(func() {
				close(begun)
				select {
				case who := <-told:
					told <- who
				case <-time.After(10 * time.Second):
				}
			})
		})
	}()
	<-begun
	ctx := hold.As(t.Context(), hold.Caller{Command: "mullion up", Waiting: func(h hold.Holder) { told <- h }})
	if _, err := Up(ctx, o); err != nil {
		t.Fatalf("up beside down: %v", err)
	}

	if err := <-down; err != nil {
		t.Errorf("down beside up: %v", err)
	}

	select {
	case who := <-told:
		if who.Command != "mullion down" || who.PID != os.Getpid() {
			t.Errorf("it waited for %+v", who)
		}
	default:
		t.Error("it did not say that it waits")
	}

	status, err := supervisor.NewClient(o.Paths.Socket()).Status(t.Context())
	if err != nil || status.Phase != supervisor.PhaseReady {
		t.Errorf("the new cluster is %+v, %v", status, err)
	}
}

// A cluster that another command takes down while an up waits for it is gone, the up says so, and it leaves alone what
// a third command has made in its place.
func TestDownBesideUp(t *testing.T) {
	o := upOptions(t, "hangs")
	up := make(chan error, 1)
	go func() {
		_, err := Up(t.Context(), o)
		up <- err
	}()
	waitFor(t, "a supervisor", func() bool { return locked(o.Paths) })
	if err := Down(t.Context(), o.Paths, func(string) {}); err != nil {
		t.Fatal(err)
	}

	third := o
	third.Environ = []string{"TEST_UNIT=starts"}
	if _, err := Up(t.Context(), third); err != nil {
		t.Fatal(err)
	}
	if err := <-up; !errors.Is(err, ErrTakenDown) && !errors.Is(err, ErrFailed) {
		t.Errorf("the first up: %v", err)
	}

	if !locked(o.Paths) {
		t.Error("the first up has ended the third command's cluster")
	}
}

// What only says in its environment that it is the cluster's, a stranger's process, is not ended, and does not keep the
// cluster from being taken down.
func TestDownBesideStrangers(t *testing.T) {
	o := upOptions(t, "starts")
	if _, err := Up(t.Context(), o); err != nil {
		t.Fatal(err)
	}

	script := "while :; do (exec sleep 0.05) & (exec sleep 0.05) & wait; done"
	stranger := exec.CommandContext(t.Context(), "sh", "-c", script)
	stranger.Env = append(os.Environ(), proc.MarkerVariable+"="+o.Paths.Data)
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() { ended <- stranger.Wait() }()
	if err := Down(t.Context(), o.Paths, func(string) {}); err != nil {
		t.Error(err)
	}

	wantNothing(t, o.Paths)
	select {
	case err := <-ended:
		t.Errorf("the stranger was ended: %v", err)
	default:
		_ = stranger.Process.Kill()
		<-ended
	}
}

// What a supervisor has left that was killed, and does not end by itself, a down ends, though nothing in it says whose
// it is.
func TestDownEndsWhatIsLeft(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	o := upOptions(t, "leaves")
	if _, err := Up(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	status, err := supervisor.NewClient(o.Paths.Socket()).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if err := syscall.Kill(status.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the supervisor's end", func() bool { return !locked(o.Paths) })
	left, err := proc.Leftovers(mark(o.Paths))
	if err != nil || len(left) != 1 || left[0].Args[0] != "/bin/sleep" {
		t.Fatalf("left are %v, %v", left, err)
	}

	if err := Down(t.Context(), o.Paths, func(string) {}); err != nil {
		t.Error(err)
	}
	wantNothing(t, o.Paths)
	if left, err := proc.Leftovers(mark(o.Paths)); err != nil || len(left) != 0 {
		t.Errorf("after it there are %v, %v", left, err)
	}
}

// waitFor waits for a condition.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begin := time.Now(); !is(); {
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("there is no %s", what)
		}
	}
}
