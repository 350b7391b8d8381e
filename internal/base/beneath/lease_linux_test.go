package beneath_test

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/beneath"
)

// The owner of a file, a container's program, may hold a lease on it: whoever opens it then waits until the owner gives
// it back, 45 seconds at most for each file (fs.lease-break-time). Nobody here waits.
func TestLease(t *testing.T) {
	signal.Ignore(syscall.SIGIO) // by which the kernel asks for the lease
	t.Cleanup(func() { signal.Reset(syscall.SIGIO) })

	dir := t.TempDir()
	name := filepath.Join(dir, "leased")
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skip("the file system has no leases:", err)
	}

	for what, open := range map[string]func() error{
		"ReadPath": func() error { _, err := beneath.ReadPath(name, 100); return err },
		"OpenPath": func() error {
			f, _, err := beneath.OpenPath(name)
			if err == nil {
				err = f.Close()
			}
			return err
		},
	} {
		begin := time.Now()
		if err := open(); !errors.Is(err, unix.EWOULDBLOCK) || time.Since(begin) > 5*time.Second {
			t.Errorf("%s: %v, after %v", what, err, time.Since(begin))
		}
	}
}
