package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/core/mount"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// layers makes layers of files by their paths, the topmost first; a path that ends with a slash is a folder, a text
// that begins with "->" a link.
func layers(t *testing.T, all ...map[string]string) (dirs []string) {
	t.Helper()
	for _, files := range all {
		dir := t.TempDir()
		for name, text := range files {
			path := filepath.Join(dir, name)

			target, link := strings.CutPrefix(text, "->")
			err := os.MkdirAll(filepath.Dir(path), 0o755)
			switch {
			case strings.HasSuffix(name, "/"):
				err = errors.Join(err, os.MkdirAll(path, 0o750))
			case link:
				err = errors.Join(err, os.Symlink(target, path))
			default:
				err = errors.Join(err, os.WriteFile(path, []byte(text), 0o640))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// found returns what is in a folder, as layers takes it.
func found(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}

		switch d.Type() {
		case fs.ModeDir:
			all[name+"/"] = ""
		case fs.ModeSymlink:
			target, err := os.Readlink(path)
			all[name] = "->" + target
			return err
		default:
			text, err := os.ReadFile(path)
			all[name] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// layerCopied copies a Windows path of layers into a new folder, with the ids of who runs the test.
func layerCopied(t *testing.T, layers []string, winPath string) string {
	t.Helper()
	target, err := resolveTarget(layers, winPath)
	if err != nil {
		t.Fatal(err)
	}
	if target.exists < len(target.parts) || !target.isDir {
		t.Fatalf("%s is no folder of the layers: %+v", winPath, target)
	}

	to := t.TempDir()
	root, err := os.OpenRoot(to)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := layerCopy{
		ctx: t.Context(),
		to:  root,
		id:  func(uint32) uint32 { return uint32(os.Getuid()) },

		linked: map[inode]string{},
	}
	if err := c.folder(target.merged, "."); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestLayerCopy: what a container would see of its layers is what is copied, whatever the letters' case; links are
// copied and lead nowhere here.
func TestLayerCopy(t *testing.T) {
	dirs := layers(t,
		map[string]string{"Files/Data/a": "upper", "Files/Data/sub/x": "1", "Files/Data/file": "now a file", "Files/plain": "no"},
		map[string]string{
			"Files/Data/a": "lower", "Files/Data/b": "2", "Files/Data/sub/y": "3", "Files/Data/sub/deep/": "",
			"Files/Data/file/hidden": "4", "Files/Data/out": "->/etc", "Files/Data/up": "->../../../secret",
		},
		map[string]string{"Files/Data/sub/x": "lowest", "Files/Data/c": "5", "drives/d/z": "6"})

	want := map[string]string{
		"a": "upper", "b": "2", "c": "5", "file": "now a file", "sub/": "", "sub/x": "1", "sub/y": "3", "sub/deep/": "",
		"out": "->/etc", "up": "->../../../secret",
	}
	if diff := cmp.Diff(want, found(t, layerCopied(t, dirs, `c:\DATA\`))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"z": "6"}, found(t, layerCopied(t, dirs, `D:`))); diff != "" {
		t.Error(diff)
	}
	if target, err := resolveTarget(dirs, `C:\plain`); err != nil || target.isDir || target.merged != nil {
		t.Errorf("a file: %+v, %v", target, err)
	}
}

// TestLayerCopyAttributes keeps modes, times, holes and the attributes of Windows, and takes no others.
func TestLayerCopyAttributes(t *testing.T) {
	dirs := layers(t, map[string]string{"Files/d/f": "text", "Files/d/s/": ""})
	file, sparse := filepath.Join(dirs[0], "Files/d/f"), filepath.Join(dirs[0], "Files/d/sparse")
	at := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	const size = 1 << 30
	holes, err := os.Create(sparse)
	if err != nil {
		t.Fatal(err)
	}
	_, err = holes.WriteAt([]byte("middle"), size/2)
	err = errors.Join(err, holes.Truncate(size), holes.Close(), os.Chmod(file, 0o4755), os.Chtimes(file, at, at),
		unix.Mkfifo(filepath.Join(dirs[0], "Files/d/pipe"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	marked := unix.Setxattr(file, "user.DOSATTRIB", []byte("0x1"), 0)

	to := layerCopied(t, dirs, `C:\d`)
	info, err := os.Stat(filepath.Join(to, "f"))
	if err != nil || info.Mode() != 0o755 || !info.ModTime().Equal(at) {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(to, "s")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Lstat(filepath.Join(to, "pipe")); !os.IsNotExist(err) {
		t.Errorf("a pipe was copied: %v", err)
	}

	info, err = os.Stat(filepath.Join(to, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if stat := info.Sys().(*syscall.Stat_t); info.Size() != size || stat.Blocks*blockBytes > size/100 {
		t.Errorf("the copy of a file with holes has %d bytes on the disk", stat.Blocks*blockBytes)
	}
	middle := make([]byte, 6)
	in, err := os.Open(filepath.Join(to, "sparse"))
	if err == nil {
		_, err = in.ReadAt(middle, size/2)
	}
	if err := errors.Join(err, in.Close()); err != nil || string(middle) != "middle" {
		t.Errorf("%q, %v", middle, err)
	}

	if marked != nil {
		t.Logf("this file system has no attributes: %v", marked)
		return
	}
	value := make([]byte, 8)
	if n, err := unix.Getxattr(filepath.Join(to, "f"), "user.DOSATTRIB", value); err != nil || string(value[:n]) != "0x1" {
		t.Errorf("%q, %v", value[:max(n, 0)], err)
	}
}

// TestLayerCopyLinked: a file with several names is one file in the copy too, and takes the disk once. Of a name that a
// layer above has anew, nothing is left.
func TestLayerCopyLinked(t *testing.T) {
	dirs := layers(t, map[string]string{"Files/d/c": "other"}, map[string]string{"Files/d/a": "text", "Files/d/s/": ""})
	lower := filepath.Join(dirs[1], "Files/d")
	for _, name := range []string{"b", "c", "s/e"} {
		if err := os.Link(filepath.Join(lower, "a"), filepath.Join(lower, name)); err != nil {
			t.Fatal(err)
		}
	}

	to := layerCopied(t, dirs, `C:\d`)
	want := map[string]string{"a": "text", "b": "text", "c": "other", "s/": "", "s/e": "text"}
	if diff := cmp.Diff(want, found(t, to)); diff != "" {
		t.Error(diff)
	}
	first, err := os.Stat(filepath.Join(to, "a"))
	for name, same := range map[string]bool{"b": true, "c": false, "s/e": true} {
		other, err2 := os.Stat(filepath.Join(to, name))
		if err := errors.Join(err, err2); err != nil || os.SameFile(first, other) != same {
			t.Errorf("%s: %v, %v", name, other, err)
		}
	}
}

// TestLayerCopyEnds: a copy ends with its context, and does not write over what is there.
func TestLayerCopyEnds(t *testing.T) {
	dirs := layers(t, map[string]string{"a": "1"})
	to := t.TempDir()
	root, err := os.OpenRoot(to)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := layerCopy{
		ctx: ctx,
		to:  root,
		id:  func(uint32) uint32 { return uint32(os.Getuid()) },

		linked: map[inode]string{},
	}
	if err := c.folder(dirs, "."); !errors.Is(err, context.Canceled) || len(found(t, to)) > 0 {
		t.Errorf("%v, %v", err, found(t, to))
	}

	if err := os.Symlink("/etc/passwd", filepath.Join(to, "a")); err != nil {
		t.Fatal(err)
	}
	c.ctx = t.Context()
	if err := c.folder(dirs, "."); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link was followed: %v", err)
	}
}

// TestViewLayers reads the mounts of a view.
func TestViewLayers(t *testing.T) {
	for _, tt := range []struct {
		mounts []mount.Mount
		want   string
	}{
		{[]mount.Mount{{Type: "bind", Source: "/s/1/fs", Options: []string{"ro"}}}, "/s/1/fs"},
		{[]mount.Mount{{Type: "overlay", Options: []string{"lowerdir=/s/2/fs:/s/1/fs"}}}, "/s/2/fs:/s/1/fs"},
		{[]mount.Mount{{Type: "btrfs", Source: "/dev/x"}}, ""},
	} {
		got, err := viewLayers(tt.mounts)
		if strings.Join(got, ":") != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%v: %v, %v", tt.mounts, got, err)
		}
	}
}
