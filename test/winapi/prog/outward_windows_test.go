package prog

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/windows"
)

// outward returns a folder of Linux links that lead out of all drives, which makeOutwardLinks of package winapi has
// made for the test of that name.
func outward(t *testing.T, name string) string {
	t.Helper()
	linuxPeer(t)
	return filepath.Join(`C:\outward`, name)
}

// outwardFolders and outwardFiles are the links in such a folder: by what Windows programs have to remove them.
func outwardFolders() []string {
	return []string{"chain-folder", "climb-folder", "folder", "proc-folder"}
}

func outwardFiles() []string {
	return []string{"chain-file", "climb-file", "climb-nothing", "file", "loop-a", "loop-b", "nothing", "proc-nothing"}
}

func outwardLinks() []string {
	return slices.Sorted(slices.Values(append(outwardFolders(), outwardFiles()...)))
}

func TestOutwardSeenAsLinks(t *testing.T) {
	dir := outward(t, "see")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]fs.FileMode{}
	for _, e := range entries {
		types[e.Name()] = e.Type()
	}

	for _, name := range outwardLinks() {
		if got := types[name]; got != fs.ModeSymlink {
			t.Errorf("%s is listed as %v", name, got)
		}
		if got := lmode(t, filepath.Join(dir, name)); got != fs.ModeSymlink {
			t.Errorf("%s: got %v, want a link", name, got)
		}

		attributes, tag := attributeTag(t, open(t, filepath.Join(dir, name), 0, openLink))
		folder := attributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0
		if tag != windows.IO_REPARSE_TAG_SYMLINK || folder != slices.Contains(outwardFolders(), name) {
			t.Errorf("%s: attributes %#x, tag %#x", name, attributes, tag)
		}
	}

	if got, err := os.Readlink(filepath.Join(dir, "folder")); err != nil || !strings.HasPrefix(got, `_:\`) {
		t.Errorf("target of an absolute link: got %q, %v", got, err)
	} else if _, err := os.Lstat(got); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the target opened by its name: got %v", err)
	}
	if got, err := os.Readlink(filepath.Join(dir, "chain-folder")); err != nil || got != "folder" {
		t.Errorf("target of the chain: got %q, %v", got, err)
	}
}

// closed is for what opens a file.
func closed(f *os.File, err error) error {
	if err == nil {
		_ = f.Close()
	}
	return err
}

// noError complains of the links by which one of the ways leads somewhere.
func noError(t *testing.T, links []string, ways map[string]func(link string) error) {
	t.Helper()
	for way, try := range ways {
		for _, link := range links {
			if err := try(link); err == nil {
				t.Errorf("%s %s: no error", way, link)
			}
		}
	}
}

// TestOutwardNotFollowed tries what opens or changes that to which a link leads.
func TestOutwardNotFollowed(t *testing.T) {
	dir := outward(t, "follow")
	at := func(link string) string { return filepath.Join(dir, link) }
	noError(t, outwardLinks(), map[string]func(string) error{
		"stat":             func(l string) error { _, err := os.Stat(at(l)); return err },
		"open":             func(l string) error { return closed(os.Open(at(l))) },
		"open in capitals": func(l string) error { return closed(os.Open(at(strings.ToUpper(l)))) },
		"list":             func(l string) error { _, err := os.ReadDir(at(l)); return err },
		"overwrite":        func(l string) error { return os.WriteFile(at(l), []byte("changed"), 0o666) },
		"overwrite in capitals": func(l string) error {
			return os.WriteFile(at(strings.ToUpper(l)), []byte("changed"), 0o666)
		},
		"append": func(l string) error { return closed(os.OpenFile(at(l), os.O_WRONLY|os.O_APPEND, 0)) },
		"create": func(l string) error {
			return closed(os.OpenFile(at(l), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666))
		},
		"truncate": func(l string) error { return os.Truncate(at(l), 0) },
		"chmod":    func(l string) error { return os.Chmod(at(l), 0o444) },
		"chdir":    func(l string) error { return windows.Chdir(at(l)) },
		"mkdir":    func(l string) error { return os.Mkdir(at(l), 0o777) },
		"set list": func(l string) error {
			return windows.SetNamedSecurityInfo(at(l), windows.SE_FILE_OBJECT,
				windows.DACL_SECURITY_INFORMATION, nil, nil, nil, nil)
		},
		"dial":      func(l string) error { _, err := net.Dial("unix", at(l)); return err },
		"real path": func(l string) error { _, err := filepath.EvalSymlinks(at(l)); return err },
	})

	if _, err := os.Stat(at("folder")); !errors.Is(err, windows.ERROR_PATH_NOT_FOUND) {
		t.Errorf("stat: got %v, want what Windows says of a link to a missing place", err)
	}
}

// TestOutwardNothingBelow tries what opens, makes, names or removes a file by way of a folder's link.
func TestOutwardNothingBelow(t *testing.T) {
	dir := outward(t, "below")
	own := write(t, filepath.Join(dir, "own"), "own")
	into := func(link, name string) string { return filepath.Join(dir, link, name) }
	noError(t, append(outwardFolders(), "nothing", "climb-nothing"), map[string]func(string) error{
		"stat":  func(l string) error { _, err := os.Stat(into(l, "inner")); return err },
		"lstat": func(l string) error { _, err := os.Lstat(into(l, "inner")); return err },
		"read":  func(l string) error { return closed(os.Open(into(l, "inner"))) },
		"read in capitals": func(l string) error {
			return closed(os.Open(into(strings.ToUpper(l), "INNER")))
		},
		"read with dots":     func(l string) error { return closed(os.Open(into(l, `sub\..\inner`))) },
		"remove":             func(l string) error { return os.Remove(into(l, "inner")) },
		"remove in capitals": func(l string) error { return os.Remove(into(strings.ToUpper(l), "INNER")) },
		"remove all": func(l string) error {
			_ = os.RemoveAll(into(l, "sub")) // nothing there is no error
			return os.ErrNotExist
		},
		"remove a link":  func(l string) error { return os.Remove(into(l, "link")) },
		"make":           func(l string) error { return os.WriteFile(into(l, "new"), nil, 0o666) },
		"overwrite":      func(l string) error { return os.WriteFile(into(l, "inner"), nil, 0o666) },
		"make a folder":  func(l string) error { return os.Mkdir(into(l, "new"), 0o777) },
		"make folders":   func(l string) error { return os.MkdirAll(into(l, `new\new`), 0o777) },
		"rename into":    func(l string) error { return os.Rename(own, into(l, "new")) },
		"rename onto":    func(l string) error { return os.Rename(own, into(l, "inner")) },
		"rename out of":  func(l string) error { return os.Rename(into(l, "inner"), filepath.Join(dir, "stolen")) },
		"hard link into": func(l string) error { return os.Link(own, into(l, "new")) },
		"hard link of":   func(l string) error { return os.Link(into(l, "inner"), filepath.Join(dir, "stolen")) },
		"link into":      func(l string) error { return os.Symlink("own", into(l, "new")) },
		"listen": func(l string) error {
			s, err := net.Listen("unix", into(l, "s"))
			if err == nil {
				_ = s.Close()
			}
			return err
		},
		"below a root": func(l string) error {
			r, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			_, err = r.Stat(filepath.Join(l, "inner"))
			return err
		},
	})
	wantContent(t, own, "own")
}

// TestOutwardFarBelow removes a tree that is deeper than the longest path of Linux. Whether it can be removed is Wine's
// affair; package winapi looks at where the links at its end lead.
func TestOutwardFarBelow(t *testing.T) {
	_ = os.RemoveAll(outward(t, "far"))
}

func TestOutwardWalk(t *testing.T) {
	dir := outward(t, "walk")
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path != dir {
			names = append(names, strings.TrimPrefix(path, dir+`\`))
		}

		info, err := d.Info()
		if err == nil && d.Type() == fs.ModeSymlink && info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("%s: entry %v, info %v", path, d.Type(), info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	want := append(outwardLinks(), "plain", "sub", `sub\folder`)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(names))); diff != "" {
		t.Errorf("walked (-want +got):\n%s", diff)
	}
}

func TestOutwardRemove(t *testing.T) {
	dir := outward(t, "remove")
	for _, name := range outwardLinks() {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
		wantGone(t, filepath.Join(dir, name))
	}
}

func TestOutwardRemoveAll(t *testing.T) {
	dir := outward(t, "remove-all")
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
	wantGone(t, dir)
	for _, link := range outwardLinks() {
		path := filepath.Join(outward(t, "remove-each"), link)
		if err := os.RemoveAll(path); err != nil {
			t.Error(err)
		}
		wantGone(t, path)
	}
}

// TestOutwardRemoveByHandle deletes as programs of older Windows do: the link itself is opened and marked.
func TestOutwardRemoveByHandle(t *testing.T) {
	dir := outward(t, "handle")
	for i, name := range outwardLinks() {
		p, err := windows.UTF16PtrFromString(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		flags := uint32(openLink)
		if i%2 == 0 {
			flags |= windows.FILE_FLAG_DELETE_ON_CLOSE
		}

		h, err := windows.CreateFile(p, windows.DELETE, windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING, flags, 0)
		if err != nil {
			t.Errorf("open %s: %v", name, err)
			continue
		}
		mark := byte(1)
		if i%2 == 1 {
			err = windows.SetFileInformationByHandle(h, windows.FileDispositionInfo, &mark, 1)
		}

		if err := errors.Join(err, windows.CloseHandle(h)); err != nil {
			t.Errorf("delete %s: %v", name, err)
		}
		wantGone(t, filepath.Join(dir, name))
	}
}

// TestOutwardRename renames the links, and a file over them.
func TestOutwardRename(t *testing.T) {
	dir := outward(t, "rename")
	for _, name := range outwardLinks() {
		link, moved := filepath.Join(dir, name), filepath.Join(dir, "moved-"+name)
		target, err := os.Readlink(link)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(link, moved); err != nil {
			t.Error(err)
			continue
		}

		wantGone(t, link)
		wantTarget(t, moved, target)
		file := write(t, filepath.Join(dir, "file-"+name), "hello")
		if err := os.Rename(file, moved); err != nil {
			// Windows replaces no link to a folder by MoveFileEx
			if !slices.Contains(outwardFolders(), name) {
				t.Error(err)
			}
			continue
		}

		if got := lmode(t, moved); got != 0 {
			t.Errorf("%s: got %v, want a file", moved, got)
		}
		wantContent(t, moved, "hello")
	}
}

func TestOutwardCommands(t *testing.T) {
	dir := outward(t, "cmd")
	cmd := func(words ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "cmd", append([]string{"/c"}, words...)...).CombinedOutput()
		return string(out), err
	}
	out, err := cmd("dir", dir)
	if err != nil {
		t.Errorf("dir: %v\n%s", err, out)
	}

	for _, name := range outwardLinks() {
		if !strings.Contains(out, name) {
			t.Errorf("dir does not list %s:\n%s", name, out)
		}
	}

	if out, _ := cmd("dir", "/s", dir); strings.Contains(out, "inner") {
		t.Errorf("dir /s goes through links:\n%s", out)
	}
	for _, name := range []string{"file", "nothing"} {
		if out, err := cmd("del", filepath.Join(dir, name)); err != nil {
			t.Errorf("del: %v\n%s", err, out)
		}
		wantGone(t, filepath.Join(dir, name))
	}

	if out, err := cmd("rd", filepath.Join(dir, "folder")); err != nil {
		t.Errorf("rd: %v\n%s", err, out)
	}
	wantGone(t, filepath.Join(dir, "folder"))
	if out, err := cmd("rd", "/s", "/q", dir); err != nil {
		t.Errorf("rd /s /q: %v\n%s", err, out)
	}
	wantGone(t, dir)
}
