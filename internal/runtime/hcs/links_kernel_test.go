//go:build kernel

package hcs

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLinks: links that a container has made are in the layer that is exported, and in the one that is imported again,
// where they lead to names in their letter case; a layer above may delete them.
func TestLinks(t *testing.T) {
	h := newHost(t)
	h.put(t, "layers/base/Files", map[string]string{"app/keep": "1", "second": "2"})
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
	h.put(t, "tmp/third", map[string]string{"Files/new": transport("3"), tombstones: tombstonesHead + "\\folder\n\\second\n"})
	h.unpack(t, "layers/third", `C:\tmp\third`, parents)
	got := h.tree(t, `C:\layers\third`, `C:\layers\next`, baseLayer)
	if got["/folder"] != "" || got["/system"] == "" || got["/new"] != "3" {
		t.Errorf("above, the container sees %q", got)
	}
	h.ok(t, "ExportLayer", `C:\layers\third`, `C:\tmp\fourth`, parents)
	if got, want := tree(t, h.drive+"/tmp/fourth/Files"), tree(t, h.drive+"/tmp/third/Files"); len(got) != len(want) {
		t.Errorf("the layer is exported as %q", short(got))
	}
	if text, err := os.ReadFile(h.drive + "/tmp/fourth/" + tombstones); string(text) != tombstonesHead+"\\folder\n\\second\n" {
		t.Errorf("the layer deletes %q, %v", text, err)
	}
}

// TestFolderInPlaceOfLink: a layer that has a folder where one below has a link has nothing of what the link leads to.
func TestFolderInPlaceOfLink(t *testing.T) {
	h := newHost(t)
	h.put(t, "layers/base/Files", map[string]string{"app/keep": "1"})
	link := "\x00\x04\x00\x00" + string(backupStream(streamReparse, string(target{path: "own", relative: true}.encode())))
	h.put(t, "tmp/first/Files", map[string]string{
		"link/": "", "link" + folderSuffix: link, "own/keep": transport("5"), "own/sub/deep": transport("6"),
	})
	h.ok(t, "ImportLayer", `C:\layers\next`, `C:\tmp\first`, baseLayer+"\n")

	h.put(t, "tmp/second/Files", map[string]string{"link/new": transport("3"), "link/sub/new": transport("4")})
	h.ok(t, "ImportLayer", `C:\layers\third`, `C:\tmp\second`, "C:\\layers\\next\n"+baseLayer+"\n")
	got := h.merged(t, `C:\layers\third`, `C:\layers\next`, baseLayer)
	want := map[string]string{
		"app/keep": "1", "own/keep": "5", "own/sub/deep": "6", "link/new": "3", "link/sub/new": "4",
	}
	if !maps.Equal(got, want) {
		t.Errorf("the container sees %q, want %q", got, want)
	}
}

// TestManyLinks: what a layer's links cost grows as their number does, also where each leads a long way through others.
func TestManyLinks(t *testing.T) {
	h := newHost(t)
	h.put(t, "layers/base/Files", map[string]string{"app/keep": "1"})
	point := func(path string) string {
		to := target{path: path, relative: true}
		return "\x20\x04\x00\x00" + string(backupStream(streamReparse, string(to.encode())))
	}
	content := map[string]string{"app/round": point(".")}
	for i := range 4000 {
		content[fmt.Sprintf("app/%d", i)] = point(strings.Repeat(`round\`, 100) + "keep")
	}
	h.put(t, "tmp/first/Files", content)

	begun := time.Now()
	h.ok(t, "ImportLayer", `C:\layers\next`, `C:\tmp\first`, baseLayer+"\n")
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("a layer of %d links took %s", len(content), took)
	}

	h.put(t, "tmp/second/Files", map[string]string{"far": point(strings.Repeat("€", longestLink/2))})
	h.refused(t, InvalidName, "ImportLayer", `C:\layers\second`, `C:\tmp\second`, baseLayer+"\n")
}
