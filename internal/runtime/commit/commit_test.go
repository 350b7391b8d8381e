package commit

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/wine"
)

const registry = "WINE REGISTRY Version 2\n;; All keys\n\n#arch=win64\n"

func noChanges() wine.RegistryChanges {
	same := func() wine.Registry {
		return wine.Registry{wine.MachineHive: registry, wine.DefaultHive: registry, wine.UserHive: registry}
	}
	return wine.RegistryChanges{
		Before: same(),
		After:  same(),
		System: same(),
		User:   wine.AdminUser,
	}
}

// layerOf writes the layer of changes and lists its entries: "name text".
func layerOf(t *testing.T, c Changes) ([]string, error) {
	t.Helper()
	var out bytes.Buffer
	if err := c.WriteLayer(t.Context(), &out); err != nil {
		return nil, err
	}

	var list []string
	for r := tar.NewReader(&out); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(list)
			return list, nil
		}
		if err != nil {
			t.Fatal(err)
		}

		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}

		switch {
		case h.Typeflag == tar.TypeDir:
			text = []byte("/")
		case h.Typeflag == tar.TypeSymlink:
			text = []byte("->" + h.Linkname)
		case strings.HasPrefix(string(text), "regf"):
			text = []byte("hive")
		}

		list = append(list, h.Name+" "+string(text))
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, "Files", name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What was written, linked and deleted is in the layer.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "app/new.txt", "N")
	if err := os.Symlink("new.txt", filepath.Join(dir, "Files", "app", "link")); err != nil {
		t.Fatal(err)
	}

	want := []string{
		"Files /", "Files/app /", "Files/app/link ->new.txt", "Files/app/new.txt N", "Hives /",
	}

	if os.Geteuid() == 0 { // others cannot make what overlayfs makes
		if err := unix.Mknod(filepath.Join(dir, "Files", "app", "old.txt"), unix.S_IFCHR, 0); err != nil {
			t.Fatal(err)
		}
		if err := unix.Lsetxattr(filepath.Join(dir, "Files", "app"), "trusted.overlay.opaque", []byte("y"), 0); err == nil {
			want = append(want, "Files/app/.wh..wh..opq ")
		}
		want = append(want, "Files/app/.wh.old.txt ")
	}

	got, err := layerOf(t, Changes{Upper: dir, Registry: noChanges()})
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A container that wrote nothing has an empty layer.
func TestNothing(t *testing.T) {
	c := Changes{Upper: t.TempDir(), Registry: noChanges()}
	if got, err := layerOf(t, c); err != nil || !slices.Equal(got, []string{"Files /", "Hives /"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// What a container's programs can make beside the calls of Windows is no file of an image, and leads nowhere.
func TestHostile(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	for name, tt := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"a link out":       {func(dir string) error { return os.Symlink("../../etc/shadow", filepath.Join(dir, "Files", "x")) }, "cannot hold"},
		"an absolute link": {func(dir string) error { return os.Symlink("/etc/shadow", filepath.Join(dir, "Files", "x")) }, "cannot hold"},
		"a pipe":           {func(dir string) error { return unix.Mkfifo(filepath.Join(dir, "Files", "x"), 0o600) }, "neither a file"},
		"a star":           {func(dir string) error { return os.WriteFile(filepath.Join(dir, "Files", "a*b"), nil, 0o600) }, "not a Windows file name"},
		"a deletion": {
			func(dir string) error { return os.WriteFile(filepath.Join(dir, "Files", ".wh.windows"), nil, 0o600) },
			"means a deletion",
		},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "Files"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := tt.make(dir); err != nil {
			t.Fatal(err)
		}

		_, err := layerOf(t, Changes{Upper: dir, Registry: noChanges()})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}

	c := Changes{Upper: t.TempDir(), Registry: noChanges()}

	c.Registry.After[wine.MachineHive] = "not Wine's"
	if _, err := layerOf(t, c); err == nil {
		t.Error("a registry that is none is taken")
	}
}

// A container's programs may put a link in the place of the drive itself, and in that of the registry: neither leads to
// files of the machine.
func TestDriveIsALink(t *testing.T) {
	machine := t.TempDir()
	write(t, machine, "key", "secret")
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(machine, "Files"), filepath.Join(dir, "Files")); err != nil {
		t.Fatal(err)
	}

	got, err := layerOf(t, Changes{Upper: dir, Registry: noChanges()})
	if err == nil || !strings.Contains(err.Error(), "in the place of its drive") {
		t.Errorf("%q, %v", got, err)
	}
}

// A drive that was removed and made again hides all that the layers below have, which a layer cannot say of its root.
func TestDriveIsNew(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", "A")
	err := unix.Lsetxattr(filepath.Join(dir, "Files"), "trusted.overlay.opaque", []byte("y"), 0)
	if err != nil {
		t.Skipf("only root can mark a folder as overlayfs does: %v", err)
	}
	got, err := layerOf(t, Changes{Upper: dir, Registry: noChanges()})
	if err == nil || !strings.Contains(err.Error(), "removed its drive") {
		t.Errorf("%q, %v", got, err)
	}
}

// A file of a terabyte that takes no room on the disk would fill it as a layer.
func TestTooMuch(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "large", "")
	if err := os.Truncate(filepath.Join(dir, "Files", "large"), 1<<40); err != nil {
		t.Fatal(err)
	}
	got, err := layerOf(t, Changes{Upper: dir, Registry: noChanges()})
	if err == nil || !strings.Contains(err.Error(), "64 GiB") {
		t.Errorf("%q, %v", got, err)
	}
}

// The registry's changes are hives, the user's own in the user's profile.
func TestHives(t *testing.T) {
	c := Changes{Upper: t.TempDir(), Registry: noChanges()}
	c.Registry.After[wine.MachineHive] += "\n[Software\\\\Own] 1\n\"a\"=\"1\"\n"
	c.Registry.After[wine.UserHive] += "\n[Environment] 1\n\"a\"=\"1\"\n"
	got, err := layerOf(t, c)
	want := []string{
		"Files /", "Files/users /", "Files/users/ContainerAdministrator /",
		"Files/users/ContainerAdministrator/NTUSER.DAT hive", "Hives /", "Hives/Software_Delta hive",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s", err, strings.Join(got, "\n"))
	}
}

// The empty places of mounts are in no layer; what a program has put at such a name is.
func TestPlacesOfMounts(t *testing.T) {
	upper := t.TempDir()
	for _, dir := range []string{"drive_c/Cache", "drive_c/full/below", "drive_c/other"} {
		path := filepath.Join(upper, strings.Replace(dir, "drive_c", engine.Drive, 1))
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for name, text := range map[string]string{"secret": "", "written": "W", "empty": ""} {
		if err := os.WriteFile(filepath.Join(upper, engine.Drive, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	got, err := layerOf(t, Changes{
		Upper:    upper,
		Registry: noChanges(),
		Mounted:  []string{"cache", "full", "secret", "written", "gone", "../../etc"},
	})
	const want = "Files /\nFiles/empty \nFiles/full /\nFiles/full/below /\nFiles/other /\nFiles/written W\nHives /"
	if list := strings.Join(got, "\n"); err != nil || list != want {
		t.Errorf("%v\n%s\nwant\n%s", err, list, want)
	}
}

// TestOnDrive: a link that leads to C: by way of the prefix's drives is one from its folder; anything else stays.
func TestOnDrive(t *testing.T) {
	for _, tt := range []struct{ name, to, want string }{
		{"link", "../dosdevices/c:/work/", "work"},
		{"app/deep/link", "../../../dosdevices/c:/app/x.txt", "../x.txt"},
		{"app/junction", "../../dosdevices/./c:/windows/system32/", "../windows/system32"},
		{"app/link", "../../dosdevices/c:/../../etc/shadow", "../etc/shadow"},
		{"app/all", "../../dosdevices/c:", ".."},
		{"link", "../dosdevices/c:x", "../dosdevices/c:x"},
		{"link", "../dosdevices/d:/x", "../dosdevices/d:/x"},
		{"app/link", "new.txt", "new.txt"},
		{"x", "../../etc/shadow", "../../etc/shadow"},
	} {
		if got := onDrive(tt.name, tt.to); got != tt.want {
			t.Errorf("%s to %s: %s, want %s", tt.name, tt.to, got, tt.want)
		}
	}
}
