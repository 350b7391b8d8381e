//go:build wine

package winapi

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// mountDisks mounts disks of 2 GiB for the test program, one of which has hardly any files left, as an ext4 whose
// inodes a program has used up.
func mountDisks(t *testing.T, p prefix) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}

	for name, options := range map[string]string{
		"few-files": "size=2g,nr_inodes=20000", "many-files": "size=2g,nr_inodes=200000",
	} {
		dir := filepath.Join(p.dir, "drive_c", name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() {
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
}
