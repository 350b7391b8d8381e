package prog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/windows"

	"mullion.dev/mullion/internal/base/testrun"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

func mkdir(t *testing.T, name string) string {
	t.Helper()
	if err := os.MkdirAll(name, 0o777); err != nil {
		t.Fatal(err)
	}
	return name
}

func symlink(t *testing.T, target, name string) string {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
	return name
}

func wantContent(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("content of %s: got %q, want %q", name, got, want)
	}
}

func wantTarget(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.Readlink(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("target of %s: got %q, want %q", name, got, want)
	}
}

func wantGone(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("lstat %s: got %v, want not exist", name, err)
	}
}

func lmode(t *testing.T, name string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Type()
}

func TestSymlinkReadsAs(t *testing.T) {
	tests := []struct {
		name   string
		target func(dir string) string
		isDir  bool
	}{
		{"relative_file", func(string) string { return "file" }, false},
		{"relative_dir", func(string) string { return "dir" }, true},
		{"relative_nested", func(string) string { return `dir\inner` }, false},
		{"relative_up", func(dir string) string { return `..\` + filepath.Base(dir) + `\file` }, false},
		{"absolute_file", func(dir string) string { return filepath.Join(dir, "file") }, false},
		{"absolute_dir", func(dir string) string { return filepath.Join(dir, "dir") }, true},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "file"), "hello")
			mkdir(t, filepath.Join(dir, "dir"))
			write(t, filepath.Join(dir, "dir", "inner"), "hello")
			target, link := tt.target(dir), filepath.Join(dir, "link")
			symlink(t, target, link)
			wantTarget(t, link, target)
			if got := lmode(t, link); got != fs.ModeSymlink {
				t.Errorf("lstat: got %v, want a link", got)
			}

			info, err := os.Stat(link)
			if err != nil {
				t.Fatal(err)
			}
			if info.IsDir() != tt.isDir {
				t.Errorf("stat: directory is %v, want %v", info.IsDir(), tt.isDir)
			}

			if tt.isDir {
				wantContent(t, filepath.Join(link, "inner"), "hello")
			} else {
				wantContent(t, link, "hello")
			}
			resolved, err := filepath.EvalSymlinks(link)
			if err != nil {
				t.Fatal(err)
			}

			want := target
			if !filepath.IsAbs(target) {
				want = filepath.Join(dir, target)
			}
			if !strings.EqualFold(resolved, want) {
				t.Errorf("EvalSymlinks: got %q, want %q", resolved, want)
			}
		})
	}
}

func TestSymlinkTargetCase(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "Folder"))
	write(t, filepath.Join(dir, "Folder", "File"), "hello")
	wantContent(t, symlink(t, `folder\FILE`, filepath.Join(dir, "rel")), "hello")
	wantContent(t, symlink(t, strings.ToUpper(filepath.Join(dir, "Folder", "File")), filepath.Join(dir, "abs")),
		"hello")
}

func TestSymlinkDriveRelative(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "hello")
	t.Chdir(dir)
	link := symlink(t, filepath.VolumeName(dir)+"file", filepath.Join(dir, "link"))
	t.Chdir(os.Getenv("SystemRoot"))
	wantTarget(t, link, filepath.Join(dir, "file"))
	wantContent(t, link, "hello")
}

func TestSymlinkErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "")
	if err := os.Symlink("x", filepath.Join(dir, "file")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("link over a file: got %v, want exists", err)
	}
	symlink(t, "x", filepath.Join(dir, "link"))
	if err := os.Symlink("x", filepath.Join(dir, "link")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("link over a dangling link: got %v, want exists", err)
	}

	if err := os.Symlink("x", filepath.Join(dir, "none", "link")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("link in no folder: got %v, want not exist", err)
	}
	if _, err := os.Readlink(filepath.Join(dir, "file")); err == nil {
		t.Error("readlink of a file succeeded")
	}
	if err := os.Mkdir(filepath.Join(dir, "link"), 0o777); !errors.Is(err, fs.ErrExist) {
		t.Errorf("mkdir over a link: got %v, want exists", err)
	}

	if f, err := os.OpenFile(filepath.Join(dir, "link"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666); !errors.Is(err,
		fs.ErrExist) {
		t.Errorf("exclusive create over a link: got %v, %v, want exists", f, err)
	}
}

func TestSymlinkDangling(t *testing.T) {
	dir := t.TempDir()
	link := symlink(t, "none", filepath.Join(dir, "link"))
	if got := lmode(t, link); got != fs.ModeSymlink {
		t.Errorf("lstat: got %v, want a link", got)
	}
	wantTarget(t, link, "none")
	if _, err := os.Stat(link); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: got %v, want not exist", err)
	}
	write(t, filepath.Join(dir, "none"), "late")
	wantContent(t, link, "late")
}

func TestSymlinkRemove(t *testing.T) {
	for _, target := range []string{"file", "dir", "none"} {
		t.Run(target, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "file"), "hello")
			mkdir(t, filepath.Join(dir, "dir", "sub"))
			link := symlink(t, target, filepath.Join(dir, "link"))
			if err := os.Remove(link); err != nil {
				t.Fatal(err)
			}

			wantGone(t, link)
			wantContent(t, filepath.Join(dir, "file"), "hello")
			if _, err := os.Stat(filepath.Join(dir, "dir", "sub")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSymlinkRename(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "one")
	write(t, filepath.Join(dir, "two"), "two")
	mkdir(t, filepath.Join(dir, "sub", "deep"))
	link, moved := symlink(t, "file", filepath.Join(dir, "link")), filepath.Join(dir, "moved")
	if err := os.Rename(link, moved); err != nil {
		t.Fatal(err)
	}

	wantGone(t, link)
	wantTarget(t, moved, "file")
	wantContent(t, filepath.Join(dir, "file"), "one")

	other := symlink(t, "two", filepath.Join(dir, "other"))
	if err := os.Rename(other, moved); err != nil {
		t.Fatal(err)
	}
	wantTarget(t, moved, "two")
	wantContent(t, filepath.Join(dir, "file"), "one")

	// A file over a link replaces the link, not its target.
	if err := os.Rename(filepath.Join(dir, "file"), moved); err != nil {
		t.Fatal(err)
	}
	if got := lmode(t, moved); got != 0 {
		t.Errorf("lstat: got %v, want a file", got)
	}
	wantContent(t, filepath.Join(dir, "two"), "two")

	// An absolute target holds wherever the link goes.
	abs := symlink(t, filepath.Join(dir, "two"), filepath.Join(dir, "abs"))
	deep := filepath.Join(dir, "sub", "deep", "abs")
	if err := os.Rename(abs, deep); err != nil {
		t.Fatal(err)
	}
	wantContent(t, deep, "two")
	wantTarget(t, deep, filepath.Join(dir, "two"))
	wantGone(t, abs)

	// A link to a folder.
	dirLink := symlink(t, "sub", filepath.Join(dir, "dirlink"))
	if err := os.Rename(dirLink, filepath.Join(dir, "dirlink2")); err != nil {
		t.Fatal(err)
	}
	wantTarget(t, filepath.Join(dir, "dirlink2"), "sub")
	if _, err := os.Stat(filepath.Join(dir, "sub", "deep")); err != nil {
		t.Error(err)
	}
}

func TestRenameChangesCase(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "Folder"))
	write(t, filepath.Join(dir, "File"), "hello")
	symlink(t, "File", filepath.Join(dir, "Link"))
	for _, name := range []string{"Folder", "File", "Link"} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, strings.ToLower(name))); err != nil {
			t.Errorf("rename %s: %v", name, err)
		}
	}

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}

	if diff := cmp.Diff([]string{"file", "folder", "link"}, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestReadDirShowsLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "hello")
	mkdir(t, filepath.Join(dir, "dir"))
	symlink(t, "file", filepath.Join(dir, "filelink"))
	symlink(t, "dir", filepath.Join(dir, "dirlink"))
	symlink(t, "none", filepath.Join(dir, "dangling"))
	symlink(t, "gone", filepath.Join(dir, "dangling2"))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]fs.FileMode{}
	for _, e := range entries {
		if _, twice := got[e.Name()]; twice {
			t.Errorf("%s is listed twice", e.Name())
		}
		got[e.Name()] = e.Type()
	}

	want := map[string]fs.FileMode{
		"file": 0, "dir": fs.ModeDir,
		"filelink": fs.ModeSymlink, "dirlink": fs.ModeSymlink, "dangling": fs.ModeSymlink, "dangling2": fs.ModeSymlink,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestReadDirOfDanglingLinksOnly(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 300 { // more than one buffer
		name := "dangling-with-a-long-name-" + strings.Repeat("x",
			100) + string(rune('a'+i%26)) + string(rune('a'+i/26))
		symlink(t, "none", filepath.Join(dir, name))
		want = append(want, name)
	}

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}

	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestGlobFindsLinks(t *testing.T) {
	dir := t.TempDir()
	symlink(t, "none", filepath.Join(dir, "a.txt"))
	write(t, filepath.Join(dir, "b.txt"), "")
	symlink(t, "none", filepath.Join(dir, "c.log"))
	got, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")}, got); diff != "" {
		t.Errorf("glob (-want +got):\n%s", diff)
	}
}

func TestRemoveAll(t *testing.T) {
	dir := t.TempDir()
	outside := write(t, filepath.Join(mkdir(t, filepath.Join(dir, "outside")), "keep"), "keep")
	tree := mkdir(t, filepath.Join(dir, "tree", "a", "b"))
	write(t, filepath.Join(tree, "file"), "x")
	write(t, filepath.Join(tree, "readonly"), "x")
	if err := os.Chmod(filepath.Join(tree, "readonly"), 0o444); err != nil {
		t.Fatal(err)
	}

	symlink(t, filepath.Join(dir, "outside"), filepath.Join(tree, "dirlink"))
	symlink(t, `..\..\..\outside`, filepath.Join(tree, "dirlink2"))
	symlink(t, filepath.Join(dir, "outside", "keep"), filepath.Join(tree, "filelink"))
	symlink(t, "none", filepath.Join(tree, "dangling"))
	open(t, filepath.Join(tree, "file"), windows.GENERIC_READ, 0) // shared for deletion, as containers' logs are
	if err := os.RemoveAll(filepath.Join(dir, "tree")); err != nil {
		t.Fatal(err)
	}

	wantGone(t, filepath.Join(dir, "tree"))
	wantContent(t, outside, "keep")
	if err := os.RemoveAll(filepath.Join(dir, "tree")); err != nil {
		t.Errorf("remove what is not there: %v", err)
	}
}

func TestWalkDoesNotFollowLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(mkdir(t, filepath.Join(dir, "real")), "file"), "x")
	symlink(t, "real", filepath.Join(dir, "link"))
	symlink(t, ".", filepath.Join(dir, "loop"))
	var got []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		got = append(got, rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{".", "link", "loop", "real", `real\file`}, got); diff != "" {
		t.Errorf("walked (-want +got):\n%s", diff)
	}
}

func TestOsRootRefusesEscape(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secret"), "secret")
	inside := mkdir(t, filepath.Join(dir, "inside"))
	write(t, filepath.Join(inside, "file"), "file")
	symlink(t, `..\secret`, filepath.Join(inside, "escape"))
	symlink(t, "file", filepath.Join(inside, "local"))
	root, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}

	defer root.Close()
	if f, err := root.Open("escape"); err == nil {
		f.Close()
		t.Error("opened a link that leads out of the root")
	}
	f, err := root.Open("local")
	if err != nil {
		t.Fatal(err)
	}

	f.Close()
	if err := root.Remove("escape"); err != nil {
		t.Error(err)
	}
	wantContent(t, filepath.Join(dir, "secret"), "secret")
}
