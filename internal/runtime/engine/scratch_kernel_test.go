//go:build kernel

package engine

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGiveFiles: what programs of the host have written into a scratch becomes the container's, and nothing else does.
func TestGiveFiles(t *testing.T) {
	upper, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	const given, own = 7000, 8000
	for _, name := range []string{"Files", "Files/sub"} {
		if err := os.Mkdir(filepath.Join(upper, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range []string{"Files/host.txt", "Files/sub/own.txt", "Files/\xff"} {
		if err := os.WriteFile(filepath.Join(upper, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(outside, nil, 0o644); err != nil {
		t.Fatal(err)
	}

	for _, err := range []error{
		os.Chown(filepath.Join(upper, "Files/sub/own.txt"), own, own),
		os.Symlink(outside, filepath.Join(upper, "Files/link")),
		os.Symlink(filepath.Dir(outside), filepath.Join(upper, "Files/folder")),
		unix.Mknod(filepath.Join(upper, "Files/gone"), unix.S_IFCHR, 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := giveFiles(upper, given); err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]uint32{
		"Files": given, "Files/sub": given, "Files/host.txt": given, "Files/link": given, "Files/folder": given,
		"Files/sub/own.txt": own, "Files/gone": 0, "Files/\xff": 0,
	} {
		info, err := os.Lstat(filepath.Join(upper, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Sys().(*syscall.Stat_t).Uid; got != want {
			t.Errorf("%q belongs to %d, want %d", name, got, want)
		}
	}

	info, err := os.Lstat(outside)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Sys().(*syscall.Stat_t).Uid; got != 0 {
		t.Errorf("what a link leads to belongs to %d", got)
	}
}
