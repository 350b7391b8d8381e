//go:build kernel

package smb

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/hostservices/smb/smbtest"
	"mullion.dev/mullion/internal/process/proc"
)

// TestForget walks through a share that is larger than what is kept of it. What is in its root the kernel does not
// forget by itself.
func TestForget(t *testing.T) {
	const files, most = 600, 100
	ns := filepath.Join(t.TempDir(), "netns")
	if _, err := netns.Ensure(ns); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := netns.Remove(ns); err != nil {
			t.Error(err)
		}
	})

	server := smbtest.Start(t, ns, "127.0.0.1", smbtest.Options{})
	for i := range files {
		if err := os.WriteFile(filepath.Join(server.Dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	target := Target{
		Server:   "127.0.0.1",
		Share:    smbtest.Share,
		User:     smbtest.User,
		Password: smbtest.Password,
	}

	s := &share{
		target: target,
		way:    target.byPassword(),
		known:  known{most: most},
	}

	s.way.dial = proc.DialIn(ns)
	dir, timeout := t.TempDir(), cached
	mounted, err := fs.Mount(dir, &node{share: s}, &fs.Options{
		EntryTimeout: &timeout, AttrTimeout: &timeout,
		MountOptions: fuse.MountOptions{DirectMount: true, FsName: "smb-test"},
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := mounted.Unmount(); err != nil {
			t.Error(err)
		}
	})

	open, err := os.OpenFile(filepath.Join(dir, "0"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()

	for i := range files {
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		n := s.known.count.Load()
		if n <= most && n > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d files are known", n)
		}
	}

	if _, err := open.WriteString("open"); err != nil {
		t.Errorf("a file that is open: %v", err)
	}
}
