//go:build kernel

package smb_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/hostservices/smb/smbtest"
)

// TestShareFull fills a share: who writes is told so, other files stay as they are, and there is room again when
// something is removed.
func TestShareFull(t *testing.T) {
	const mib = 1 << 20
	h := newHost(t)
	smbtest.Start(t, h.netns, loopback, smbtest.Options{Space: 16 * mib})
	dir := h.mapped(t, mapAs(smbtest.User))
	if err := os.WriteFile(filepath.Join(dir, "small"), []byte("small"), 0o600); err != nil {
		t.Fatal(err)
	}

	f, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	written := 0
	for err == nil && written < 64*mib {
		n := 0
		n, err = f.Write(bytes.Repeat([]byte("x"), mib))
		written += n
		if err == nil {
			err = f.Sync()
		}
	}

	if !errors.Is(err, unix.ENOSPC) || written < 8*mib || written > 16*mib {
		t.Errorf("after %d bytes of 16 MiB: %v, want that there is no room", written, err)
	}
	var left unix.Statfs_t
	if err := unix.Statfs(dir, &left); err != nil || left.Bavail*uint64(left.Bsize) > mib { // not negative
		t.Errorf("a full share has %d free blocks of %d bytes, %v", left.Bavail, left.Bsize, err)
	}

	if text, err := os.ReadFile(filepath.Join(dir, "small")); string(text) != "small" || err != nil {
		t.Errorf("the other file of a full share: %q, %v", text, err)
	}
	if err := os.Remove(filepath.Join(dir, "large")); err != nil {
		t.Fatal(err)
	}

	_ = f.Close()
	if err := os.WriteFile(filepath.Join(dir, "next"), bytes.Repeat([]byte("y"), mib), 0o600); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
