//go:build kernel

package hcs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/windows/wine"
)

// newBinder is a host whose programs see volumes of scratches. What it mounts goes with the test.
func newBinder(t *testing.T) *host {
	t.Helper()
	h := newHost(t)
	h.stop()
	h.config.Volumes = t.TempDir()
	if err := os.Mkdir(filepath.Join(filepath.Dir(h.drive), "dosdevices"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.begin(t)
	t.Cleanup(func() {
		for _, m := range h.mapped(t) {
			h.ok(t, "BfRemoveMapping", m[1])
		}
		if len(h.volume) > 0 {
			guid := h.volume[len(`\\?\Volume{`) : len(h.volume)-1]
			_ = unix.Unmount(filepath.Join(h.config.Volumes, guid), unix.MNT_DETACH)
		}
	})

	return h
}

// mapped returns the mappings: flags, root and target of each.
func (h *host) mapped(t *testing.T) (all [][]string) {
	t.Helper()
	for line := range strings.Lines(h.ok(t, "BfGetMappings", "1", `C:\layers`).Text) {
		all = append(all, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return all
}

func (h *host) file(name string) string { return filepath.Join(h.drive, filepath.FromSlash(name)) }

func (h *host) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.file(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.file(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (h *host) reads(t *testing.T, name, want string) {
	t.Helper()
	if text, err := os.ReadFile(h.file(name)); string(text) != want {
		t.Errorf("%s: %q, %v; want %q", name, text, err, want)
	}
}

// TestBind: a folder and a file of the drive are seen at another place, are read-only if asked, are known to the next
// service, and are gone when they are taken back.
func TestBind(t *testing.T) {
	h := newBinder(t)
	h.write(t, "from/file.txt", "of the target")
	h.write(t, "at/hidden.txt", "below")

	h.ok(t, "BfSetupFilter", "64", `C:\AT`, `C:\From`)
	h.ok(t, "BfSetupFilter", "65", `C:\made`, `C:\from`)
	h.write(t, "one.txt", "")
	h.ok(t, "BfSetupFilter", "0", `C:\one.txt`, `C:\from\file.txt`)
	h.reads(t, "at/file.txt", "of the target")
	h.reads(t, "one.txt", "of the target")
	h.write(t, "at/new.txt", "by the root")
	h.reads(t, "made/new.txt", "by the root")
	if err := os.Remove(h.file("made/new.txt")); !errors.Is(err, unix.EROFS) {
		t.Errorf("remove from what is read-only: %v", err)
	}

	h.stop()
	h.begin(t)
	want := [][]string{
		{"64", `C:\at`, `C:\from`},
		{"65", `C:\made`, `C:\from`},
		{"64", `C:\one.txt`, `C:\from\file.txt`},
	}
	if got := h.mapped(t); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("mappings %q, want %q", got, want)
	}
	h.refused(t, InvalidArg, "BfSetupFilter", "64", `C:\at`, `C:\from`)
	h.refused(t, NotSupported, "BfSetupFilter", "0", `C:\at`, `C:\from`)

	// Wine writes an alternate stream of the root beside it.
	h.write(t, "at:stream", "")
	h.write(t, "atop", "")
	for _, root := range []string{`C:\at\`, `c:/made`, `\\?\C:\one.txt`} {
		h.ok(t, "BfRemoveMapping", root)
		h.refused(t, NoElement, "BfRemoveMapping", root)
	}

	h.reads(t, "at/hidden.txt", "below")
	h.reads(t, "from/new.txt", "by the root")
	_, stream := os.Lstat(h.file("at:stream"))
	if _, err := os.Lstat(h.file("atop")); err != nil || !os.IsNotExist(stream) {
		t.Errorf("of the streams beside the root: %v, of its neighbour: %v", stream, err)
	}
	if left := h.mapped(t); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestBindRefuses what is no mapping.
func TestBindRefuses(t *testing.T) {
	h := newBinder(t)
	h.write(t, "from/file.txt", "")
	if err := os.Symlink("/etc", h.file("out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("from", h.file("in")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(h.file("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		want                Code
		flags, root, target string
	}{
		{InvalidArg, "x", `C:\at`, `C:\from`},
		{InvalidArg, "-1", `C:\at`, `C:\from`},
		{NotSupported, "2", `C:\at`, `C:\from`},
		{InvalidArg, "0", `C:\`, `C:\from`},
		{InvalidArg, "0", `C:\from`, `C:\from\file.txt`},
		{InvalidArg, "0", `C:\pipe`, `C:\from\file.txt`},
		{PathNotFound, "0", `C:\missing`, `C:\from\file.txt`},
		{PathNotFound, "0", `C:\at`, `C:\missing`},
		{PathNotFound, "0", `C:\..\..\etc`, `C:\from`},
		{PathNotFound, "0", `C:\at`, `C:\..\..\etc`},
		{PathNotFound, "0", `\\server\share`, `C:\from`},
		{PathNotFound, "0", "C:\\at\x00", `C:\from`},
		{PathNotFound, "0", `C:\out`, `C:\from`},
		{PathNotFound, "0", `C:\out\ssh`, `C:\from`},
		{PathNotFound, "0", `C:\at`, `C:\out`},
		{PathNotFound, "0", `C:\at`, `\\?\Volume{00000000-0000-0000-0000-000000000001}\`},
		{PathNotFound, "0", `C:\at`, `\\?\Volume{../../../../../etc}\`},
		{NotSupported, "0", h.volume + `\x`, `C:\from`},
	} {
		h.refused(t, c.want, "BfSetupFilter", c.flags, c.root, c.target)
	}
	h.refused(t, NotSupported, "BfGetMappings", "2", `C:\`)
	h.refused(t, PathNotFound, "BfGetMappings", "1", `D:\`)
	h.refused(t, NoElement, "BfRemoveMapping", `C:\`)

	// What else is mounted on the drive is no mapping.
	if err := errors.Join(os.Mkdir(h.file("other"), 0o755), unix.Mount("tmpfs", h.file("other"), "tmpfs", 0, "")); err != nil {
		t.Fatal(err)
	}
	h.refused(t, NoElement, "BfRemoveMapping", `C:\other`) //nolint:misspell // "other" after a backslash
	if err := unix.Unmount(h.file("other"), 0); err != nil {
		t.Error(err)
	}

	// A link of the drive leads to the target that it names.
	h.ok(t, "BfSetupFilter", "64", `C:\at`, `C:\in`)
	if got := h.mapped(t); len(got) != 1 || got[0][2] != `C:\from` {
		t.Errorf("mappings %q", got)
	}
}

// TestBindVolume: a prepared scratch is seen at a folder of the drive, where nobody follows its links; when the volume
// goes, so does the mapping.
func TestBindVolume(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	h := newBinder(t)
	h.write(t, "layers/base/Files/sub/base.txt", "of the layer")
	h.ok(t, "PrepareLayer", scratchPath, baseLayer+"\n")
	for _, volume := range []string{h.volume, h.volume + `\`, strings.ToUpper(h.volume)} {
		h.ok(t, "BfSetupFilter", "64", `C:\at`, volume)
		h.reads(t, "at/sub/base.txt", "of the layer")
		if got := h.mapped(t); len(got) != 1 || got[0][2] != h.volume+`\` {
			t.Errorf("mappings %q", got)
		}
		h.ok(t, "BfRemoveMapping", `C:\at`)
	}

	h.ok(t, "BfSetupFilter", "64", `C:\at`, h.volume)
	h.ok(t, "BfSetupFilter", "65", `C:\part`, h.volume+`\SUB`)
	h.ok(t, "BfSetupFilter", "64", `C:\at\sub`, `C:\layers`) // in another mapping
	h.write(t, "at/new.txt", "by the root")
	h.reads(t, "part/base.txt", "of the layer")
	guid := h.volume[len(`\\?\Volume{`) : len(h.volume)-1]
	if err := os.Symlink("/etc/passwd", filepath.Join(h.cfg.StateDir, "scratch", guid, "fs", files, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(h.file("at/link")); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link of the volume: %v", err)
	}
	h.refused(t, PathNotFound, "BfSetupFilter", "64", `C:\secret`, h.volume+`\link`)

	// An open file does not keep it.
	f, err := os.Open(h.file("at/new.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h.ok(t, "UnprepareLayer", scratchPath)
	if left := h.mapped(t); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if _, err := os.Lstat(h.file("at/new.txt")); !os.IsNotExist(err) {
		t.Errorf("the volume's file: %v", err)
	}

	// A folder of a volume of something else, a disk, is not shown.
	disk := filepath.Join(h.config.Volumes, "00000000-0000-0000-0000-000000000002")
	if err := errors.Join(os.Mkdir(disk, 0o755), unix.Mount("tmpfs", disk, "tmpfs", 0, "")); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Unmount(disk, 0) }()
	h.refused(t, NotSupported, "BfSetupFilter", "64", `C:\at`, `\\?\`+wine.VolumeDevice(filepath.Base(disk)))
}

// TestBindManyTimes: a host has so many mappings and no more, whatever they show.
func TestBindManyTimes(t *testing.T) {
	h := newBinder(t)
	h.write(t, "from/file.txt", "")
	for i := range mostMappings {
		h.ok(t, "BfSetupFilter", "64", fmt.Sprintf(`C:\at%d`, i), `C:\from`)
	}
	h.refused(t, NoResources, "BfSetupFilter", "64", `C:\more`, `C:\from`)
}

// TestBindMoved: a folder above a mapping that a program has moved, with a link in its place, leads to nothing else.
func TestBindMoved(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	h := newBinder(t)
	h.ok(t, "PrepareLayer", scratchPath, baseLayer+"\n")
	h.write(t, "dir/sub/file.txt", "")
	h.ok(t, "BfSetupFilter", "64", `C:\dir\sub`, h.volume)
	other := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(other, "sub"), 0o755),
		unix.Mount("tmpfs", filepath.Join(other, "sub"), "tmpfs", 0, "")); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(filepath.Join(other, "sub"), 0); err != nil {
			t.Errorf("another mount: %v", err)
		}
	}()

	if err := errors.Join(os.Rename(h.file("dir"), h.file("moved")), os.Symlink(other, h.file("dir"))); err != nil {
		t.Fatal(err)
	}
	h.refused(t, NoElement, "BfRemoveMapping", `C:\dir\sub`)
	h.ok(t, "UnprepareLayer", scratchPath)
	h.reads(t, "moved/sub/file.txt", "")
	if left := h.mapped(t); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestBindOthers: what else is mounted on the drive, as the volumes of pods are, is not shown, and nothing is shown in
// it or over it: such a mapping would be in no list, and none of a host's 256.
func TestBindOthers(t *testing.T) {
	h := newBinder(t)
	h.write(t, "from/file.txt", "")
	pods := h.file("var/pods")
	if err := errors.Join(os.MkdirAll(pods, 0o755), unix.Mount("tmpfs", pods, "tmpfs", 0, "")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for unix.Unmount(h.file("at"), unix.MNT_DETACH) == nil || unix.Unmount(h.file("var"), unix.MNT_DETACH) == nil {
		}
		_ = unix.Unmount(pods, unix.MNT_DETACH)
	})
	h.write(t, "var/pods/uid/volume/file.txt", "of a pod")

	for _, c := range []struct{ root, target string }{
		{`C:\at`, `C:\var\pods\uid`},
		{`C:\at`, `C:\var\pods`},
		{`C:\var\pods\uid\volume`, `C:\from`},
		{`C:\var\pods\made`, `C:\from`},
		{`C:\var`, `C:\from`},
	} {
		h.refused(t, NotSupported, "BfSetupFilter", "0", c.root, c.target)
	}
	h.reads(t, "var/pods/uid/volume/file.txt", "of a pod")
}

// TestBindCovered: a volume goes although something lies over its mapping, as a program that moves folders in time can
// have it.
func TestBindCovered(t *testing.T) {
	h := newBinder(t)
	h.ok(t, "PrepareLayer", scratchPath, baseLayer+"\n")
	h.write(t, "dir/sub/file.txt", "")
	h.write(t, "from/file.txt", "")
	h.ok(t, "BfSetupFilter", "64", `C:\dir\sub`, h.volume)
	h.refused(t, NotSupported, "BfSetupFilter", "64", `C:\dir`, `C:\from`)

	for range 2 {
		if err := unix.Mount(h.file("from"), h.file("dir"), "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
	}
	h.ok(t, "UnprepareLayer", scratchPath)
	h.reads(t, "dir/sub/file.txt", "")
	if left := h.mapped(t); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
