//go:build kernel

package emptydirs_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/emptydirs"
)

// idle returns a pod of which nothing runs.
func idle(string) (func(), bool) { return func() {}, true }

// TestSweepMounted leaves alone what is mounted in a volume, and empties the rest of it.
func TestSweepMounted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	k := kubelet{t.TempDir()}
	k.volume(t, "gone", emptyDir, "v", false)
	mounted := k.path("gone", "volumes", emptyDir, "v", "mounted")
	if err := os.Mkdir(mounted, 0o755); err != nil {
		t.Fatal(err)
	}

	if err := unix.Mount("tmpfs", mounted, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(mounted, unix.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(mounted, "kept"), nil, 0o644); err != nil {
		t.Fatal(err)
	}

	s := emptydirs.Sweeper{
		Drive: k.drive,
		Hold:  idle,
		Log:   slog.New(slog.DiscardHandler),
	}
	if _, err := s.Sweep(t.Context()); !errors.Is(err, unix.EXDEV) {
		t.Errorf("the error of what is mounted: %v", err)
	}

	if _, err := os.Stat(filepath.Join(mounted, "kept")); err != nil {
		t.Error(err)
	}

	if n := k.entries(t, "gone", emptyDir, "v"); n != 1 {
		t.Errorf("%d entries are left, want the mounted folder alone", n)
	}
}

// TestSweepMany empties a volume with many names for few files, as a pod makes them in seconds.
func TestSweepMany(t *testing.T) { sweepMany(t, 20_000) }

// TestFieldSweepMillion: a volume of a million entries is empty within a minute. A measurement of the volume would have
// ended its pod at 300,000, which a program makes in seconds.
func TestFieldSweepMillion(t *testing.T) { sweepMany(t, 1_000_000) }

func sweepMany(t *testing.T, entries int) {
	t.Helper()
	k := kubelet{t.TempDir()}
	k.volume(t, "gone", emptyDir, "v", false)
	dir := k.path("gone", "volumes", emptyDir, "v")
	file := ""
	for i := range entries {
		name := filepath.Join(dir, fmt.Sprintf("l*%d", i))
		err := error(nil)
		if i%60_000 == 0 {
			file, err = name, os.WriteFile(name, nil, 0o644)
		} else {
			err = os.Link(file, name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	begun := time.Now()
	s := emptydirs.Sweeper{
		Drive: k.drive,
		Hold:  idle,
		Log:   slog.New(slog.DiscardHandler),
	}

	n, err := s.Sweep(t.Context())
	took := time.Since(begun)
	if err != nil || k.entries(t, "gone", emptyDir, "v") > 0 {
		t.Errorf("%d entries removed, %v", n, err)
	}

	t.Logf("%d entries in %v", n, took)
	if took > time.Minute {
		t.Errorf("%d entries take %v, want at most a minute", n, took)
	}
}
