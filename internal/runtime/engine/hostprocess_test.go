package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenInStaysOnTheDrive opens places for mounts on a drive that others write to.
func TestOpenInStaysOnTheDrive(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "Data", "Sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}

	for _, tc := range []struct {
		winPath string
		folder  bool
		want    string // below root; "" is an error
	}{
		{`C:\data\SUB`, true, "Data/Sub"},
		{`/data/new/deeper`, true, "Data/new/deeper"},
		{`c:\DATA\new\file.txt`, false, "Data/new/file.txt"},
		{`C:\..\..\up`, true, "up"},
		{`C:\FILE`, false, "file"},
		{`C:\file`, true, ""},
		{`C:\data`, false, ""},
		{`C:\file\below`, true, ""},
		{`C:\link`, true, ""},
		{`C:\link\below`, true, ""},
		{`C:\`, true, ""},
		{`D:\x`, true, ""},
	} {
		fd, err := openIn(root, tc.winPath, tc.folder)
		if tc.want == "" {
			if !errors.Is(err, ErrTarget) {
				t.Errorf("open %q: %v, want ErrTarget", tc.winPath, err)
			}
			continue
		}

		if err != nil {
			t.Errorf("open %q: %v", tc.winPath, err)
			continue
		}
		got, err := os.Readlink(fdPath(fd))
		if err != nil || got != filepath.Join(root, tc.want) {
			t.Errorf("open %q: %q %v, want %q", tc.winPath, got, err, tc.want)
		}

		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
	}

	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside the drive: %v %v", entries, err)
	}
}
