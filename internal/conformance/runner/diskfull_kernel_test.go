//go:build kernel

package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/conformance/result"
)

// TestDiskFull fills the disk of the results after the first spec: the run ends with a message that says so, and what
// was written can be read.
func TestDiskFull(t *testing.T) {
	c, ended := testConfig(t, "TEST_WAITS=1")
	c.limits = &limits{ask: time.Minute, gone: time.Minute}
	if err := unix.Mount("tmpfs", c.Results, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := unix.Unmount(c.Results, 0); err != nil {
			t.Error(err)
		}
	})

	progress := c.Progress
	c.Progress = func(p Progress) {
		if p.Spec != nil {
			fill(t, filepath.Join(c.Results, "filler"))
		}
		progress(p)
	}

	folder, err := c.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("error %v", err)
	}
	<-ended
	if err := os.Remove(filepath.Join(c.Results, "filler")); err != nil {
		t.Fatal(err)
	}

	r, err := result.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if r.Run.End == result.Complete || len(r.Done()) != 1 {
		t.Errorf("%s, %v done", r.Run.End, r.Done())
	}
}

func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return // full already
	}
	defer file.Close()
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
}
