//go:build kernel

package hcs

import (
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// TestLinks: links that a container has made are in the layer that is exported, and in the one that is imported again,
// where they lead to names in their letter case; a layer above may delete them.
func TestLinks(t *testing.T) {
	h := newHost(t)
	h.put(t, "layers/base/Files", map[string]string{"app/keep": "1", "other": "2"})
	must(t, os.Symlink("app/keep", filepath.Join(h.drive, "layers/base/Files/old")))
	h.ran(t, func(c string) {
		must(t, os.Symlink("KEEP", c+"/app/file"), os.Symlink("../dosdevices/c:/APP/", c+"/folder"),
			os.Symlink("../dosdevices/./c:/Windows/SYSTEM32/", c+"/system"), os.Symlink("absent", c+"/nowhere"),
			os.Remove(c+"/old"))
	})

	h.ok(t, "ExportLayer", scratchPath, `C:\tmp\first`, baseLayer+"\n")
	first := tree(t, h.drive+"/tmp/first/Files")
	for name, want := range map[string]uint32{
		"/app/file": attributeReparse | attributeArchive, "/nowhere": attributeReparse | attributeArchive,
		"/folder" + folderSuffix: attributeReparse | attributeFolder, "/system" + folderSuffix: attributeReparse | attributeFolder,
	} {
		if text := first[name]; len(text) < 24 || binary.LittleEndian.Uint32([]byte(text)) != want ||
			binary.LittleEndian.Uint32([]byte(text[4:])) != streamReparse {
			t.Errorf("%s is exported as %q", name, text)
		}
	}

	h.unpack(t, "layers/next", `C:\tmp\first`, baseLayer+"\n")
	links := map[string]string{}
	for _, name := range []string{"app/file", "folder", "system", "nowhere"} {
		links[name], _ = os.Readlink(filepath.Join(h.drive, "layers/next/Files", name))
	}
	want := map[string]string{"app/file": "keep", "folder": "app/", "system": "windows/System32/", "nowhere": "absent"}
	if !maps.Equal(links, want) {
		t.Errorf("the links lead to %q, want %q", links, want)
	}
	if got := h.tree(t, `C:\layers\next`, baseLayer); got["/old"] != "" || got["/folder"] == "" || got["/app/keep"] != "1" {
		t.Errorf("the container sees %q", got)
	}

	// A layer above deletes one; what it has of those below is none of its own.
	parents := "C:\\layers\\next\n" + baseLayer + "\n"
	h.put(t, "tmp/third", map[string]string{"Files/new": transport("3"), tombstones: tombstonesHead + "\\folder\n\\other\n"})
	h.unpack(t, "layers/third", `C:\tmp\third`, parents)
	got := h.tree(t, `C:\layers\third`, `C:\layers\next`, baseLayer)
	if got["/folder"] != "" || got["/system"] == "" || got["/new"] != "3" {
		t.Errorf("above, the container sees %q", got)
	}
	h.ok(t, "ExportLayer", `C:\layers\third`, `C:\tmp\fourth`, parents)
	if got, want := tree(t, h.drive+"/tmp/fourth/Files"), tree(t, h.drive+"/tmp/third/Files"); len(got) != len(want) {
		t.Errorf("the layer is exported as %q", short(got))
	}
	if text, err := os.ReadFile(h.drive + "/tmp/fourth/" + tombstones); string(text) != tombstonesHead+"\\folder\n\\other\n" {
		t.Errorf("the layer deletes %q, %v", text, err)
	}
}
