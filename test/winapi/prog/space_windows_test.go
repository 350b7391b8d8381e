package prog

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/windows"
)

// TestFreeSpaceOfFewFiles asks for the room on disks of 2 GiB that package winapi has mounted: one of 20,000 files, for
// which there is no use for more than 16 KiB each, and one of many.
func TestFreeSpaceOfFewFiles(t *testing.T) {
	const gib = 1 << 30
	for path, want := range map[string]struct{ least, most uint64 }{
		`C:\few-files`:  {200 << 20, 20_000 * 16 << 10},
		`C:\many-files`: {gib, 2 * gib},
	} {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			t.Skip("needs root, to mount a disk")
		}
		name, err := windows.UTF16PtrFromString(path)
		if err != nil {
			t.Fatal(err)
		}

		var available, size, free uint64
		if err := windows.GetDiskFreeSpaceEx(name, &available, &size, &free); err != nil {
			t.Fatal(err)
		}
		if size != 2*gib {
			t.Errorf("%s has %d bytes, want 2 GiB", path, size)
		}

		for kind, got := range map[string]uint64{"available": available, "free": free} {
			if got < want.least || got > want.most {
				t.Errorf("%s: %d bytes are %s, want %d to %d", path, got, kind, want.least, want.most)
			}
		}
	}
}
