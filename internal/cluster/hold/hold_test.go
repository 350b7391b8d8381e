package hold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain is also a process that holds a cluster, until its standard input ends.
func TestMain(m *testing.M) {
	run := os.Getenv("HOLD_RUN")
	if run == "" {
		os.Exit(m.Run())
	}

	var held *Held
	var err error
	if os.Getenv("HOLD_INHERITED") != "" {
		held = Inherit(run, 3)
	} else {
		_, held, err = Take(As(context.Background(), Caller{Command: "mullion down"}), run)
	}

	fmt.Println("held", err)
	_, _ = os.Stdin.Read(make([]byte, 1))
	if err == nil {
		held.Release()
	}
}

// child starts a process that holds the cluster, and returns a function that ends it in order; its context's end kills
// it.
func child(t *testing.T, ctx context.Context, run string, files ...*os.File) (end func()) { //nolint:revive // t first
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), "HOLD_RUN="+run)
	if cmd.ExtraFiles = files; files != nil {
		cmd.Env = append(cmd.Env, "HOLD_INHERITED=yes")
	}
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

	line := make([]byte, 64)
	if n, err := out.Read(line); err != nil || string(line[:n]) != "held <nil>\n" {
		t.Fatalf("the other process says %q, %v", line[:n], err)
	}
	end = sync.OnceFunc(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	t.Cleanup(end)

	return end
}

func newRun(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "mullion", "0123abcd")
}

// Take waits for the process that holds the cluster, says once for whom, and goes on when that process lets go, or is
// killed.
func TestTakeWaits(t *testing.T) {
	for _, how := range []string{"in order", "by kill -9"} {
		run := newRun(t)
		ctx, kill := context.WithCancel(t.Context())
		end := child(t, ctx, run)
		var said []string
		mine := As(t.Context(), Caller{Command: "mullion up", Waiting: func(h Holder) {
			said = append(said, h.String())
			if how == "in order" {
				go end()
			} else {
				kill()
			}
		}})

		_, held, err := Take(mine, run)
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		if !held.Waited() || len(said) != 1 || !strings.Contains(said[0], "`mullion down` (process ") {
			t.Errorf("%s: waited %v, said %q", how, held.Waited(), said)
		}

		if who := holderOf(lockOf(run)); who.PID != os.Getpid() || who.Command != "mullion up" {
			t.Errorf("%s: the file names %+v", how, who)
		}
		held.Release()
		kill()
	}
}

// Take does not wait for longer than its context, and says for whom it waited.
func TestTakeIsBounded(t *testing.T) {
	run := newRun(t)
	child(t, t.Context(), run)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, _, err := Take(ctx, run)
	var busy *BusyError
	if !errors.As(err, &busy) || !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "mullion down") {
		t.Errorf("%v", err)
	}
}

// The folder of the lock is everybody's way to the run folders in it, also if a strict umask made it.
func TestFolderOfTheLock(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	run := newRun(t)
	_, held, err := Take(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()

	info, err := os.Stat(filepath.Dir(run))
	if err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("%v, %v, want rwx--x--x", info.Mode(), err)
	}
}

// What a command calls holds the cluster with it; the outermost lets go, and leaves no file of a cluster that is gone.
func TestTakeWithin(t *testing.T) {
	run := newRun(t)
	ctx, outer, err := Take(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	_, inner, err := Take(ctx, run)
	if err != nil || inner != outer {
		t.Fatalf("%p within %p, %v", inner, outer, err)
	}

	if outer.Waited() {
		t.Error("waited for nobody")
	}
	inner.Release()
	if free(t, run) {
		t.Error("the inner one let go of it")
	}

	inner.HandOver()
	if !free(t, run) {
		t.Error("it is held after it was handed over")
	}
	if _, inner, err = Take(ctx, run); err != nil || free(t, run) {
		t.Errorf("held anew: %v", err)
	}

	inner.Release()
	if free(t, run) {
		t.Error("what was held anew is not held to the end")
	}
	outer.Release()
	if _, err := os.Stat(filepath.Dir(run)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}

// free reports whether somebody else could take the cluster.
func free(t *testing.T, run string) bool {
	t.Helper()
	file, err := tryLock(lockOf(run))
	if err != nil {
		t.Fatal(err)
	}
	if file == nil {
		return false
	}
	_ = file.Close()
	return true
}

// A child that inherits the lock holds the cluster, also when its starter is gone, until it lets go.
func TestInherit(t *testing.T) {
	run := newRun(t)
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	_, held, err := Take(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}

	end := child(t, t.Context(), run, held.File())
	held.Release()
	if free(t, run) {
		t.Error("it is free as soon as the starter has let go")
	}
	end()
	if !free(t, run) {
		t.Error("it is held when the child has let go")
	}

	if _, err := os.Stat(lockOf(run)); err != nil {
		t.Errorf("the file of a cluster that is there: %v", err)
	}
}

// Of many that take a cluster at once, and remove it, one has it at a time.
func TestOneAtATime(t *testing.T) {
	run := newRun(t)
	var inside, together int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				_, held, err := Take(t.Context(), run)
				if err != nil {
					t.Error(err)
					return
				}

				mu.Lock()
				inside++
				together = max(together, inside)
				mu.Unlock()
				mu.Lock()
				inside--
				mu.Unlock()
				held.Release()
			}
		})
	}

	all.Wait()
	if together != 1 {
		t.Errorf("%d had it at once", together)
	}
}
