//go:build kernel

package hcs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stream is a backup stream of a file.
func backupStream(id uint32, data string) []byte {
	var b bytes.Buffer
	for _, v := range []any{id, uint32(0), uint64(len(data)), uint32(0)} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	b.WriteString(data)
	return b.Bytes()
}

// put writes files into a folder of the drive: a name that ends in / is a folder.
func (h *host) put(t *testing.T, folder string, content map[string]string) {
	t.Helper()
	for name, text := range content {
		path := filepath.Join(h.drive, folder, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}

		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// transport returns a file in the transport form: attributes, a security descriptor, and data.
func transport(data string) string {
	return "\x20\x00\x00\x00" + string(backupStream(3, "descriptor")) + string(backupStream(streamData, data))
}

// merged mounts layers over each other as a container has them, and returns what files there are with their content.
func (h *host) merged(t *testing.T, layers ...string) map[string]string {
	t.Helper()
	opened, err := h.layers.open(layers)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(opened)
	var lower []string
	for _, f := range opened {
		lower = append(lower, fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	}

	at := t.TempDir()
	if err := unix.Mount("overlay", at, "overlay", unix.MS_RDONLY, "lowerdir="+strings.Join(lower, ":")); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Unmount(at, unix.MNT_DETACH) }()

	all := map[string]string{}
	err = filepath.WalkDir(filepath.Join(at, files), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, at+"/Files/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return all
}

// TestImport imports layers as hcsshim does: it deletes what the image deletes after the import, and takes "not found"
// for success. What is deleted stays away, in all letter cases.
func TestImport(t *testing.T) {
	h := newHost(t)
	h.put(t, "layers/base/Files", map[string]string{
		"app/keep": "1", "app/drop": "2", "app/Sub/deep": "3", "other/file": "4", "App2/x": "5",
	})
	h.put(t, "tmp/hcs1", map[string]string{
		"Files/": "", "Files/APP/": "", "Files/APP.$wcidirs$": "\x10\x00\x00\x00", "Files/APP/new": transport("6"),
		"Files/APP/KEEP": transport("7"), "Files/windows/": "", "Files/windows/SYSTEM32/": "", "Hives/Software_Delta": "hive",
	})

	const next, last = `C:\layers\next`, `C:\layers\last`
	h.ok(t, "ImportLayer", next, `C:\tmp\hcs1`, baseLayer+"\n")
	for _, name := range []string{"Files/app/new", "Files/app/keep", "Files/windows/System32", "Hives/Software_Delta"} {
		if _, err := os.Stat(filepath.Join(h.drive, "layers/next", name)); err != nil {
			t.Errorf("after the import: %v", err)
		}
	}

	// As hcsshim, by the names that the image has.
	for _, tombstone := range []string{"Files/app/drop", "Files/app/Sub"} {
		if err := os.Remove(filepath.Join(h.drive, "layers/next", tombstone)); err != nil {
			t.Errorf("what the layers below have is not in the layer: %v", err)
		}
	}

	want := "map[App2/x:5 app/keep:7 app/new:6 other/file:4]"
	if got := fmt.Sprint(h.merged(t, next, baseLayer)); got != want {
		t.Errorf("the layers are %s, want %s", got, want)
	}

	// A third layer brings one back, and the one that is below stays deleted.
	h.put(t, "tmp/hcs2", map[string]string{"Files/app/": "", "Files/app/DROP": transport("8")})
	h.ok(t, "ImportLayer", last, `C:\tmp\hcs2`, next+"\n"+baseLayer+"\n")
	want = "map[App2/x:5 app/DROP:8 app/keep:7 app/new:6 other/file:4]"
	if got := fmt.Sprint(h.merged(t, last, next, baseLayer)); got != want {
		t.Errorf("the layers are %s, want %s", got, want)
	}

	h.ok(t, "DestroyLayer", next)
	h.ok(t, "DestroyLayer", last)
	if left, err := os.ReadDir(filepath.Join(h.cfg.StateDir, "hidden")); len(left) > 0 || err != nil {
		t.Errorf("left of layers: %v, %v", left, err)
	}
}

// TestImportOfEnemies imports what no honest program writes: nothing outside of the layer is touched, and nobody waits.
func TestImportOfEnemies(t *testing.T) {
	h := newHost(t)
	outside := t.TempDir()
	for name, text := range map[string]string{
		"short":   "\x20\x00",
		"header":  "\x20\x00\x00\x00\x01\x00",
		"long":    "\x20\x00\x00\x00" + string(backupStream(streamData, "x")[:19]) + "\x00",
		"huge":    "\x20\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00",
		"reparse": "\x20\x04\x00\x00" + string(backupStream(streamReparse, "x")),
		"sparse":  "\x20\x00\x00\x00" + string(backupStream(streamSparseBlock, "x")),
	} {
		h.put(t, "tmp/"+name, map[string]string{"Files/": "", "Files/a": text})
		_, err := h.Call(t.Context(), "ImportLayer", []string{`C:\layers\n` + name, `C:\tmp\` + name, baseLayer + "\n"})
		if err == nil && name != "long" {
			t.Errorf("the file %q is imported", name)
		}
		if err == nil {
			h.ok(t, "DestroyLayer", `C:\layers\n`+name)
		}
	}

	for name, want := range map[string]Code{"a\nb": InvalidName, `..\x`: InvalidName, "A": AlreadyThere} {
		h.put(t, "tmp/names", map[string]string{"Files/a": transport("x"), "Files/" + name: transport("y")})
		h.refused(t, want, "ImportLayer", `C:\layers\names`, `C:\tmp\names`, baseLayer+"\n")
		must(t, os.Remove(filepath.Join(h.drive, "tmp/names/Files", name)))
	}

	h.put(t, "tmp/pipe", map[string]string{"Files/": ""})
	if err := unix.Mkfifo(filepath.Join(h.drive, "tmp/pipe/Files/a"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.refused(t, InvalidArg, "ImportLayer", `C:\layers\pipe`, `C:\tmp\pipe`, baseLayer+"\n")

	// Nothing of what failed is left.
	if left, err := filepath.Glob(h.drive + "/layers/*"); err != nil || len(left) != 2 {
		t.Errorf("there are the layers %q, %v", left, err)
	}

	// A layer whose folders lead out, and a record that names what is outside.
	h.put(t, "tmp/good", map[string]string{"Files/d/": "", "Files/d/a": transport("x")})
	h.put(t, "layers/led/Files", map[string]string{"x": ""})
	if err := os.Symlink(outside, filepath.Join(h.drive, "layers/led/Files/d")); err != nil {
		t.Fatal(err)
	}

	must(t, os.Symlink(outside, filepath.Join(h.drive, "layers/led", staging)))
	h.ok(t, "ImportLayer", `C:\layers\led`, `C:\tmp\good`, baseLayer+"\n") // in the place of the links
	if info, err := os.Lstat(filepath.Join(h.drive, "layers/led/Files/d")); err != nil || !info.IsDir() {
		t.Errorf("in the place of a link there is %v, %v", info, err)
	}

	for _, record := range []string{
		`{"Hidden":"../../x","Shared":[]}`, `{"Hidden":"x"}`, `{`,
		`{"Hidden":"00000000-0000-0000-0000-000000000001","Shared":["Files/../../../x"]}`,
		`{"Hidden":"00000000-0000-0000-0000-000000000001","Shared":["/etc/x"]}`,
	} {
		h.put(t, "layers/base", map[string]string{recordName: record})
		h.refused(t, InvalidArg, "ImportLayer", `C:\layers\after`, `C:\tmp\good`, baseLayer+"\n")
	}

	if left, err := os.ReadDir(outside); len(left) > 0 || err != nil {
		t.Errorf("outside of the drive there is now %v, %v", left, err)
	}
}

// TestFailedImport: an import that fails in the middle leaves the folder of its layer as it was, with its scratch and
// with an earlier layer. What one has left that was killed goes with the next one.
func TestFailedImport(t *testing.T) {
	h := newHost(t)
	h.put(t, "layers/base/Files", map[string]string{"app/below": "1"})
	h.put(t, "tmp/good", map[string]string{"Files/app/": "", "Files/app/new": transport("2"), "Hives/Software_Delta": "hive"})
	h.put(t, "tmp/next", map[string]string{"Files/app/": "", "Files/app/other": transport("3")})
	h.put(t, "tmp/bad", map[string]string{
		"Files/app/": "", "Files/app/a": transport("x"), "Files/app/z": "\x20", "Hives/Software_Delta": "hive",
	})
	h.put(t, "layers/scratch", map[string]string{staging + "/Files/app/half": "x", staging + "/" + recordName: "{"})
	at, fresh := h.drive+"/layers/scratch", map[string]string{"/": "", "/" + sandboxDisk: ""}
	fresh["/"+sandboxDisk] = tree(t, at)["/"+sandboxDisk]

	h.refused(t, InvalidArg, "ImportLayer", scratchPath, `C:\tmp\bad`, baseLayer+"\n")
	if got := tree(t, at); !maps.Equal(got, fresh) {
		t.Errorf("an import that failed has left %q", short(got))
	}

	h.refused(t, InvalidArg, "ImportLayer", `C:\layers\new`, `C:\tmp\bad`, baseLayer+"\n")
	h.refused(t, PathNotFound, "ImportLayer", `C:\layers\new`, `C:\tmp\absent`, baseLayer+"\n")
	h.refused(t, PathNotFound, "ImportLayer", `C:\layers\new`, `C:\tmp\good`, `C:\layers\absent`+"\n")
	if _, err := os.Lstat(h.drive + "/layers/new"); err == nil {
		t.Error("an import that failed has left the folder that it made")
	}

	h.ok(t, "ImportLayer", scratchPath, `C:\tmp\good`, baseLayer+"\n")
	must(t, os.Remove(at+"/Files/app/below"))
	want := "map[app/new:2]"
	if got := fmt.Sprint(h.merged(t, scratchPath, baseLayer)); got != want {
		t.Errorf("the layers are %s, want %s", got, want)
	}

	before := tree(t, at)
	h.refused(t, InvalidArg, "ImportLayer", scratchPath, `C:\tmp\bad`, baseLayer+"\n")
	if got := tree(t, at); !maps.Equal(got, before) {
		t.Errorf("after an import that failed the layer has %q, and had %q", short(got), short(before))
	}

	// Another layer takes its place, whose deletions are its own.
	h.ok(t, "ImportLayer", scratchPath, `C:\tmp\next`, baseLayer+"\n")
	want = "map[app/below:1 app/other:3]"
	if got := fmt.Sprint(h.merged(t, scratchPath, baseLayer)); got != want {
		t.Errorf("the layers are %s, want %s", got, want)
	}
	if _, err := os.Lstat(at + "/" + hives); err == nil {
		t.Error("the registry of the layer that was replaced is left")
	}

	h.ok(t, "DeactivateLayer", scratchPath)
	h.ok(t, "DestroyLayer", scratchPath)
	if left, err := os.ReadDir(filepath.Join(h.cfg.StateDir, "hidden")); len(left) > 0 || err != nil {
		t.Errorf("left of layers: %v, %v", left, err)
	}
}
