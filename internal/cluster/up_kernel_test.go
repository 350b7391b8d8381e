//go:build kernel

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
)

// TestMain is also the supervisor that Up starts. It has one unit; TEST_UNIT says how that unit starts.
func TestMain(m *testing.M) {
	if i := slices.Index(os.Args, "--data-dir"); i > 0 && slices.Contains(os.Args, "supervise") {
		if err := superviseOne(layout.Paths{Data: os.Args[i+1]}, os.Getenv("TEST_UNIT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func superviseOne(paths layout.Paths, how string) error {
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
	return supervisor.Run(context.Background(), supervisor.Config{
		Socket:     paths.Socket(),
		Units:      []component.Unit{{Component: oneUnit(how)}},
		Log:        slog.New(slog.DiscardHandler),
		StartLimit: time.Minute,
	})
}

// oneUnit is a component that starts, fails to start, or never finishes its start.
type oneUnit string

// Name implements component.Component.
func (oneUnit) Name() string { return "one" }

// Start implements component.Component.
func (u oneUnit) Start(ctx context.Context) error {
	switch u {
	case "fails":
		return errors.New("the disk is full")
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
