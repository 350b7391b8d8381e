//go:build kernel

package hcs

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/hcs/hcstest"
	"mullion.dev/mullion/internal/windows/regf"
	"mullion.dev/mullion/internal/windows/wine"
)

// ran mounts what a container has, lets do change its C:, and returns which files it sees then.
func (h *host) ran(t *testing.T, do func(c string)) map[string]string {
	t.Helper()
	s, err := h.layers.activate(scratchPath)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := h.layers.open(s.lower)
	if err != nil {
		t.Fatal(err)
	}

	defer closeAll(opened)
	var lower []string
	for _, f := range opened {
		lower = append(lower, fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	}

	at := t.TempDir()
	options := fmt.Sprintf("redirect_dir=off,lowerdir=%s,upperdir=%s/fs,workdir=%s/work",
		strings.Join(lower, ":"), s.dir, s.dir)
	if err := unix.Mount("overlay", at, "overlay", 0, options); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Unmount(at, unix.MNT_DETACH) }()
	c := filepath.Join(at, files)
	do(c)

	return tree(t, c)
}

// tree returns the files of a folder with their content, and how many names they have, if several.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, dir)
		if d.IsDir() {
			all[name+"/"] = ""
			return nil
		}

		if !d.Type().IsRegular() {
			all[name] = d.Type().String()
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		all[name] = string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return all
}

// must fails a test for an error of its own.
func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// unpack imports a folder as hcsshim does: then it deletes what the list says.
func (h *host) unpack(t *testing.T, layer, folder, parents string) {
	t.Helper()
	h.ok(t, "ImportLayer", `C:\`+strings.ReplaceAll(layer, "/", `\`), folder, parents)
	from := filepath.Join(h.drive, strings.ReplaceAll(strings.TrimPrefix(folder, `C:\`), `\`, "/"))
	list, err := os.ReadFile(filepath.Join(from, tombstones))
	must(t, err)
	lines := strings.Split(strings.TrimSuffix(string(list), "\n"), "\n")
	if lines[0] != "\ufeffVersion 1.0" {
		t.Fatalf("the list of tombstones begins with %q", lines[0])
	}
	for _, line := range lines[1:] {
		name := strings.ReplaceAll(line, `\`, "/")
		must(t, os.RemoveAll(filepath.Join(h.drive, layer, files, name)))
	}
}

// TestRoundTrip: what a container has changed comes out of ImportLayer as the container saw it, and what was imported
// is exported as it was.
func TestRoundTrip(t *testing.T) {
	h := newHost(t)
	h.put(t, "layers/base/Files", map[string]string{
		"app/keep": "1", "app/drop": "2", "app/old/deep": "3", "app/old/more/x": "4", "again/gone": "5",
		"again/sub/gone": "6", "turned/file": "7", "flat": "8",
	})

	then := time.Date(2019, 4, 1, 12, 0, 0, 0, time.UTC)
	saw := h.ran(t, func(c string) {
		must(t, os.Remove(c+"/app/drop"), os.RemoveAll(c+"/app/old"), os.RemoveAll(c+"/again"), os.Mkdir(c+"/again", 0o755),
			os.WriteFile(c+"/again/new", []byte("9"), 0o644), os.RemoveAll(c+"/turned"),
			os.WriteFile(c+"/turned", []byte("now a file"), 0o644), os.Remove(c+"/flat"), os.Mkdir(c+"/flat", 0o755),
			os.WriteFile(c+"/app/keep", []byte("changed"), 0o644), os.Chtimes(c+"/app/keep", then, then), os.Mkdir(c+"/Empty", 0o755),
			os.WriteFile(c+"/Empty:stream", []byte("dropped"), 0o644),
			os.WriteFile(c+"/holes", nil, 0o644), os.Truncate(c+"/holes", 3<<20),
			os.WriteFile(c+"/one", []byte("linked"), 0o644),
			os.Link(c+"/one", c+"/app/two"))
	})
	delete(saw, "/Empty:stream")

	h.ok(t, "ExportLayer", scratchPath, `C:\tmp\first`, baseLayer+"\n")
	if left, err := os.Stat(filepath.Join(h.drive, "tmp/first/Files/holes")); err != nil ||
		left.Sys().(*syscall.Stat_t).Blocks > 64 {
		t.Errorf("the holes of a file are filled: %+v, %v", left, err)
	}

	h.unpack(t, "layers/next", `C:\tmp\first`, baseLayer+"\n")
	got := h.tree(t, `C:\layers\next`, baseLayer)
	if !maps.Equal(got, saw) {
		t.Errorf("after the import the container sees\n%q\nand before\n%q", short(got), short(saw))
	}
	if a, b := h.stat(t, "layers/next/Files/one"), h.stat(t, "layers/next/Files/app/two"); !os.SameFile(a, b) {
		t.Error("two names of a file are two files")
	}

	if got := h.stat(t, "layers/next/Files/app/keep").ModTime(); !got.Equal(then) {
		t.Errorf("a file of %v has the time %v", then, got)
	}

	h.ok(t, "ExportLayer", `C:\layers\next`, `C:\tmp\second`, baseLayer+"\n")
	first, second := tree(t, h.drive+"/tmp/first"), tree(t, h.drive+"/tmp/second")
	if !maps.Equal(first, second) {
		t.Errorf("the layer was\n%q\nand is exported as\n%q", short(first), short(second))
	}

	for _, hive := range hiveNames() {
		if first["/Hives/"+hive] == "" {
			t.Errorf("there is no hive %s", hive)
		}
	}
}

// TestExportIntoItself: containerd exports a scratch and imports it into its own folder, and later layers lie on it.
func TestExportIntoItself(t *testing.T) {
	h := newHost(t)
	h.put(t, "layers/base/Files", map[string]string{"a": "1", "dir/x": "2", "dir/y": "3"})
	saw := h.ran(t, func(c string) { must(t, os.Remove(c+"/a"), os.RemoveAll(c+"/dir")) })
	h.ok(t, "ExportLayer", scratchPath, `C:\tmp\first`, baseLayer+"\n")
	h.unpack(t, "layers/scratch", `C:\tmp\first`, baseLayer+"\n")
	if got := h.tree(t, scratchPath, baseLayer); !maps.Equal(got, saw) {
		t.Errorf("the layer has %q, and the container had %q", got, saw)
	}

	// What it deleted stays so where a later layer makes the folder again.
	h.put(t, "tmp/later", map[string]string{"Files/dir/": "", "Files/dir/z": transport("4"), tombstones: tombstonesHead})
	h.unpack(t, "layers/later", `C:\tmp\later`, scratchPath+"\n"+baseLayer+"\n")
	got := fmt.Sprint(h.tree(t, `C:\layers\later`, scratchPath, baseLayer))
	if want := "map[/: /dir/: /dir/z:4]"; got != want {
		t.Errorf("the later layer has %s, want %s", got, want)
	}

	h.ok(t, "DeactivateLayer", scratchPath)
	h.ok(t, "DestroyLayer", scratchPath)
	if left, err := os.ReadDir(filepath.Join(h.cfg.StateDir, "scratch")); len(left) > 0 || err != nil {
		t.Errorf("left of the scratch: %v, %v", left, err)
	}
}

// TestExportRegistry: what a container has changed in its registry is in the layer's hives, and what of it is the
// user's in the user's profile. A container that has changed nothing has hives that change nothing.
func TestExportRegistry(t *testing.T) {
	h := newHost(t)
	h.put(t, "layers/base/Files", map[string]string{"Users/Public/x": "1"})
	h.ran(t, func(string) {})
	h.ok(t, "ExportLayer", scratchPath, `C:\tmp\none`, baseLayer+"\n")
	for _, hive := range hiveNames() {
		if got, err := os.ReadFile(h.drive + "/tmp/none/Hives/" + hive); err != nil || !bytes.Equal(got, regf.Build()) {
			t.Errorf("the hive %s of a container that has changed nothing has %d bytes, %v", hive, len(got), err)
		}
	}

	if all := tree(t, h.drive+"/tmp/none/Files"); len(all) != 1 {
		t.Errorf("a container that has changed nothing has changed %q", short(all))
	}

	s, err := h.layers.activate(scratchPath)
	must(t, err, h.layers.begins(s, wine.User))
	h.ran(t, func(c string) {
		must(t, os.MkdirAll(c+"/Users/CONTAINERUSER", 0o755), os.WriteFile(c+"/Users/CONTAINERUSER/ntuser.dat", []byte("old"), 0o644))
	})

	machine := hcstest.NoRegistry + "\n[Software\\\\Own] 1\n\"a\"=\"1\"\n\n[System\\\\CurrentControlSet\\\\Services\\\\Own] 1\n\"Start\"=dword:2\n"
	own := hcstest.NoRegistry + "\n[Environment] 1\n\"own\"=\"yes\"\n"
	must(t, os.WriteFile(s.dir+"/fs/"+wine.MachineHive, []byte(machine), 0o644),
		os.WriteFile(s.dir+"/fs/"+wine.UserHive, []byte(own), 0o644))
	h.ok(t, "ExportLayer", scratchPath, `C:\tmp\out`, baseLayer+"\n")
	h.unpack(t, "layers/scratch", `C:\tmp\out`, baseLayer+"\n") // as containerd commits it

	changed, room := map[string]string{}, wine.MaxChanges
	for _, hive := range wine.LayerHives() {
		text, err := os.ReadFile(filepath.Join(h.drive, "layers/scratch/Hives", hive.Name))
		must(t, err)
		keys, err := hive.Changes(text, &room)
		must(t, err)
		for _, k := range keys {
			changed[hive.Name] += fmt.Sprint(k)
		}
	}

	if !strings.Contains(changed["Software_Delta"], `Own`) || !strings.Contains(changed["System_Delta"], "Own") ||
		changed["DefaultUser_Delta"] != "" {
		t.Errorf("the layer changes of the registry %q", changed)
	}

	hive, err := os.ReadFile(filepath.Join(h.drive, "layers/scratch/Files/Users/CONTAINERUSER/ntuser.dat"))
	must(t, err)
	keys, err := wine.UserChanges(hive, wine.User, &room)
	if text := fmt.Sprint(keys); err != nil || !strings.Contains(text, "own") {
		t.Errorf("the user's settings are %s, %v", text, err)
	}

	// It is exported as it was imported.
	h.ok(t, "ExportLayer", scratchPath, `C:\tmp\again`, baseLayer+"\n")
	if first, second := tree(t, h.drive+"/tmp/out"), tree(t, h.drive+"/tmp/again"); !maps.Equal(first, second) {
		t.Errorf("the layer was\n%q\nand is exported as\n%q", short(first), short(second))
	}

	// A profile that is gone has no settings, and a registry that is none is refused.
	h.ran(t, func(c string) { must(t, os.RemoveAll(c+"/Users")) })
	h.ok(t, "ExportLayer", scratchPath, `C:\tmp\gone`, baseLayer+"\n")
	if all := tree(t, h.drive+"/tmp/gone/Files"); len(all) != 1 {
		t.Errorf("without a profile there are %q", short(all))
	}
	must(t, os.WriteFile(s.dir+"/fs/"+wine.MachineHive, []byte("not Wine's"), 0o644))
	h.refused(t, InvalidArg, "ExportLayer", scratchPath, `C:\tmp\bad`, baseLayer+"\n")
}

// TestDriveMadeAgain: a drive that hides all that the layers below have is more than a layer can say.
func TestDriveMadeAgain(t *testing.T) {
	h := newHost(t)
	h.ran(t, func(c string) { must(t, os.WriteFile(c+"/a", nil, 0o644)) })
	s, err := h.layers.activate(scratchPath)
	must(t, err, unix.Setxattr(s.dir+"/fs/Files", "trusted.overlay.opaque", []byte("y"), 0))
	h.refused(t, NotSupported, "ExportLayer", scratchPath, `C:\tmp\out`, baseLayer+"\n")
}

// TestCommitAgain: a commit whose export fails imports nothing, as hcsshim does, and the next one has all that the
// container has written.
func TestCommitAgain(t *testing.T) {
	h := newHost(t)
	h.put(t, "layers/base/Files", map[string]string{"a": "1", "b": "2"})
	saw := h.ran(t, func(c string) {
		must(t, os.Remove(c+"/a"), os.WriteFile(c+"/new", []byte("3"), 0o644), os.Symlink("/etc/passwd", c+"/odd"))
	})
	delete(saw, "/odd")
	h.refused(t, NotSupported, "ExportLayer", scratchPath, `C:\tmp\failed`, baseLayer+"\n")
	h.put(t, "tmp/nothing", map[string]string{tombstones: tombstonesHead})
	h.unpack(t, "layers/scratch", `C:\tmp\nothing`, baseLayer+"\n")
	h.ran(t, func(c string) { must(t, os.Remove(c+"/odd")) })
	for range 2 { // it may be exported whenever it is asked for
		must(t, os.RemoveAll(h.drive+"/tmp/out"))
		h.ok(t, "ExportLayer", scratchPath, `C:\tmp\out`, baseLayer+"\n")
		h.unpack(t, "layers/scratch", `C:\tmp\out`, baseLayer+"\n")
		if got := h.tree(t, scratchPath, baseLayer); !maps.Equal(got, saw) {
			t.Errorf("the layer has %q, and the container had %q", got, saw)
		}
	}

	// Without its scratch there is still the layer.
	must(t, os.RemoveAll(h.cfg.StateDir+"/scratch"), os.RemoveAll(h.drive+"/tmp/out"))
	h.ok(t, "ExportLayer", scratchPath, `C:\tmp\out`, baseLayer+"\n")
	if all := tree(t, h.drive+"/tmp/out/Files"); all["/new"] == "" {
		t.Errorf("without its scratch the layer has %q", short(all))
	}
}

// TestExportOfEnemies exports what a container's programs may make beside Wine: the list of tombstones has no line of
// theirs, nothing is read that lies outside, and nobody waits.
func TestExportOfEnemies(t *testing.T) {
	for name, tt := range map[string]struct {
		want Code
		do   func(c string) error
	}{
		"line break": {InvalidName, func(c string) error { return os.Remove(c + "/x\n\\..\\..\\evil") }},
		"new break":  {InvalidName, func(c string) error { return os.WriteFile(c+"/a\nb", nil, 0o644) }},
		"back slash": {InvalidName, func(c string) error { return os.WriteFile(c+`/..\..\evil`, nil, 0o644) }},
		"attributes": {InvalidName, func(c string) error { return os.WriteFile(c+"/Dir.$wcidirs$", nil, 0o644) }},
		"two cases": {AlreadyThere, func(c string) error {
			return errors.Join(os.WriteFile(c+"/new", nil, 0o644), os.WriteFile(c+"/NEW", nil, 0o644))
		}},
		"link": {NotSupported, func(c string) error { return os.Symlink("/etc/passwd", c+"/link") }},
		"pipe": {NotSupported, func(c string) error { return unix.Mkfifo(c+"/pipe", 0o600) }},
		"device": {NotSupported, func(c string) error {
			return unix.Mknod(c+"/null", unix.S_IFCHR, int(unix.Mkdev(1, 3)))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.put(t, "layers/base/Files", map[string]string{"dir/x": "2", "x\n\\..\\..\\evil": ""})
			h.ran(t, func(c string) { must(t, tt.do(c)) })
			h.refused(t, tt.want, "ExportLayer", scratchPath, `C:\tmp\out`, baseLayer+"\n")
		})
	}

	h := newHost(t)
	h.put(t, "layers/led/Files", map[string]string{"x": ""})
	h.put(t, "layers/led", map[string]string{recordName: `{"Hidden":"","Shared":["Files/../../../etc/passwd"]}`})
	h.refused(t, InvalidArg, "ExportLayer", `C:\layers\led`, `C:\tmp\out`, baseLayer+"\n")
	h.refused(t, PathNotFound, "ExportLayer", `C:\layers\absent`, `C:\tmp\out`, baseLayer+"\n")
	must(t, os.Symlink(t.TempDir(), filepath.Join(h.drive, "tmp/led")))
	if _, err := h.Call(t.Context(), "ExportLayer", []string{baseLayer, `C:\tmp\led`, ""}); err == nil {
		t.Error("a layer is exported through a link that leads out of the drive")
	}
}

// tree returns what a container with some layers sees.
func (h *host) tree(t *testing.T, lower ...string) map[string]string {
	t.Helper()
	opened, err := h.layers.open(lower)
	must(t, err)
	defer closeAll(opened)
	var names []string
	for _, f := range opened {
		names = append(names, fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	}
	at := t.TempDir()
	must(t, unix.Mount("overlay", at, "overlay", unix.MS_RDONLY, "lowerdir="+strings.Join(names, ":")))
	defer func() { _ = unix.Unmount(at, unix.MNT_DETACH) }()
	return tree(t, filepath.Join(at, files))
}

func (h *host) stat(t *testing.T, name string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(filepath.Join(h.drive, name))
	must(t, err)
	return info
}

// short are names with the first bytes of what they have.
func short(all map[string]string) []string {
	var lines []string
	for name, text := range all {
		lines = append(lines, name+"="+text[:min(len(text), 24)])
	}
	slices.Sort(lines)
	return lines
}
