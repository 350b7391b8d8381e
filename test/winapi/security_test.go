//go:build wine

package winapi

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// makeLinuxFiles leaves files for the test program that no Windows program has made, one with a descriptor that is
// none.
func makeLinuxFiles(t *testing.T, p prefix) {
	t.Helper()
	dir := filepath.Join(p.dir, "drive_c/linux-folder")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"file", "damaged"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range []string{"lists-written", "lists-bound-written"} {
		if err := os.WriteFile(filepath.Join(p.dir, "drive_c", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(p.dir, "drive_c", name), 0o666); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}

	// A file of the group that stands for containers' administrators on a host.
	grouped := filepath.Join(p.dir, "drive_c/lists-grouped")
	if err := os.WriteFile(grouped, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chown(grouped, -1, 1234), os.Chmod(grouped, 0o666)); err != nil {
		t.Fatal(err)
	}

	// A descriptor whose list is said to lie beyond its end.
	damaged := []byte{1, 0, 4, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0xff, 0, 0, 2, 0}
	if err := unix.Setxattr(filepath.Join(dir, "damaged"), "user.mullion.sd", damaged, 0); err != nil {
		t.Fatal(err)
	}
}

// checkModes holds that lists become Linux' modes where modes bind a program, as they do a container's, and where they
// bind only others take no more from them than to write, unless the file's group stands for administrators.
func checkModes(t *testing.T, p prefix) {
	t.Helper()
	bound := exec.CommandContext(t.Context(), "setpriv", "--bounding-set=-all", "--inh-caps=-all", p.wine.Loader,
		`C:\winapi.exe`, "-test.run=^TestLeavesLists$")
	bound.Env = append(p.env(), "WINAPI_LINUX_PEER=1", "WINAPI_LISTS=bound-")
	bound.Dir = filepath.Join(p.dir, "drive_c")
	if out, err := bound.CombinedOutput(); err != nil {
		t.Fatalf("run without capabilities: %v\n%s", err, out)
	}

	for name, want := range map[string]fs.FileMode{
		"open": 0o644, "closed": 0o644, "read": 0o644, "denied": 0o644, "written": 0o644,
		"grouped": 0o670, "bound-grouped": 0o700,
		"bound-open": 0o777, "bound-closed": 0o700, "bound-read": 0o444, "bound-denied": 0o555, "bound-written": 0o744,
	} {
		info, err := os.Stat(filepath.Join(p.dir, "drive_c/lists-"+name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("mode of the file with the list %q: got %v, want %v", name, info.Mode().Perm(), want)
		}
	}
}
