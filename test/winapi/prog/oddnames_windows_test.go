package prog

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/sys/windows"
)

// linuxName returns the name of Linux behind a name of Windows: a character of U+F001 to U+F0FF is the byte in its low
// half.
func linuxName(name string) string {
	var linux []byte
	for _, r := range name {
		if r > 0xf000 && r < 0xf100 && r != 0xf02f {
			linux = append(linux, byte(r))
		} else {
			linux = append(linux, string(r)...)
		}
	}
	return string(linux)
}

// oddTrees returns the folders that the Linux side of package winapi has made.
func oddTrees(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(`C:\odd\` + pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skip("no Linux program has made a tree")
	}
	return found
}

// TestOddNamesWalk walks trees whose names Windows does not have: each entry once, by a name that leads to it, and the
// sum of the sizes is right. Then it removes them.
func TestOddNamesWalk(t *testing.T) {
	for _, dir := range oddTrees(t, "tree-*[0-9]") {
		want, err := os.ReadFile(dir + ".want")
		if err != nil {
			t.Fatal(err)
		}

		var entries int
		var bytes int64
		if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || path == dir {
				return err
			}
			entries++
			info, err := entry.Info()
			if err != nil {
				return err
			}

			if !info.Mode().IsRegular() {
				return nil
			}
			bytes += info.Size()
			return checkOddFile(path)
		}); err != nil {
			t.Errorf("walk %q: %v", dir, err)
		}

		if got := fmt.Sprintf("%d %d", entries, bytes); got != string(want) {
			t.Errorf("entries and bytes of %s: got %s, want %s", dir, got, want)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove: %q", err)
		}
	}
}

// checkOddFile looks whether a name leads to its file, by each way, and to no other.
func checkOddFile(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if got, want := hex.EncodeToString([]byte(linuxName(filepath.Base(path)))), string(content); got != want {
		return fmt.Errorf("%q is the file %s", path, want)
	}

	if strings.ContainsAny(filepath.Base(path), "\\/*?|<>\":\x01\n") {
		return fmt.Errorf("%q is no name of Windows", path)
	}
	named, err := os.Stat(path)
	if err != nil {
		return err
	}

	if named.Size() != int64(len(content)) {
		return fmt.Errorf("%q has %d bytes, and by its name %d", path, len(content), named.Size())
	}
	return checkFinalName(path)
}

// checkFinalName opens a file and asks for its name. Wine has room for 260 characters there (kernelbase, file.c).
func checkFinalName(path string) error {
	if len(utf16.Encode([]rune(path))) > 250 {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()

	name := make([]uint16, windows.MAX_LONG_PATH)
	n, err := windows.GetFinalPathNameByHandle(windows.Handle(file.Fd()), &name[0], uint32(len(name)), 0)
	if err != nil {
		return fmt.Errorf("name of %q: %w", path, err)
	}
	if got := string(utf16.Decode(name[:n])); got != `\\?\`+path {
		return fmt.Errorf("the name of %q is %q", path, got)
	}

	return nil
}

// TestOddNamesSearch lists by patterns and by whole names, as FindFirstFile does it.
func TestOddNamesSearch(t *testing.T) {
	dir := oddTrees(t, "all")[0]
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
		if got := found(t, filepath.Join(dir, entry.Name())); !slices.Contains(got, entry.Name()) {
			t.Errorf("by its own name %q: %q", entry.Name(), got)
		}
	}

	all := slices.DeleteFunc(found(t, dir+`\*`), func(name string) bool { return name == "." || name == ".." })
	slices.Sort(all)
	slices.Sort(names)
	if !slices.Equal(all, names) {
		t.Errorf("by FindFirstFile:\n%q\nby a handle:\n%q", all, names)
	}
	if got := len(slices.Compact(names)); got != len(all) {
		t.Errorf("%d names for %d files", got, len(all))
	}

	if got := found(t, dir+`\a`+"\uf02a"+`?`); !slices.Contains(got, "a\uf02ab") {
		t.Errorf("by a pattern: %q", got)
	}
	for _, none := range []string{"a\uf041", "\uf0c3\uf0a4", "none\uf02a"} {
		if _, err := os.Stat(filepath.Join(dir, none)); err == nil {
			t.Errorf("%q is there", none)
		}
	}

	if got, err := os.ReadFile(dir + "\\out\uf02aside\\victim"); err == nil {
		t.Errorf("out of the drive: %q", got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Errorf("remove: %q", err)
	}
}

func found(t *testing.T, pattern string) []string {
	t.Helper()
	name, err := windows.UTF16PtrFromString(pattern)
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	var data windows.Win32finddata
	find, err := windows.FindFirstFile(name, &data)
	if err != nil {
		return nil
	}
	defer func() { _ = windows.FindClose(find) }()
	for err == nil {
		names = append(names, windows.UTF16ToString(data.FileName[:]))
		err = windows.FindNextFile(find, &data)
	}

	return names
}

// TestOddNamesWrites makes, renames and links files by such names; the Linux side looks at them.
func TestOddNamesWrites(t *testing.T) {
	oddTrees(t, "writes")
	at := func(name string) string { return filepath.Join(`C:\odd\writes`, name) }
	folder := at("made\uf05cfolder")
	for _, step := range []func() error{
		func() error { return os.WriteFile(at("made\uf02afile"), []byte("made"), 0o666) },
		func() error { return os.Mkdir(folder, 0o777) },
		func() error { return os.WriteFile(filepath.Join(folder, "in"), []byte("inner"), 0o666) },
		func() error { return os.WriteFile(filepath.Join(folder, "gone"), nil, 0o666) },
		func() error { return os.Remove(filepath.Join(folder, "gone")) },
		func() error { return os.WriteFile(at("first"), []byte("renamed"), 0o666) },
		func() error { return os.Rename(at("first"), at("x\uf03fy")) },
		func() error { return os.Rename(at("x\uf03fy"), at("\uf0ffrenamed")) },
		func() error { return os.WriteFile(at("odd\uf03c"), []byte("was odd"), 0o666) },
		func() error { return os.Rename(at("odd\uf03c"), at("plain")) },
		func() error { return os.Link(at("plain"), at("hard\uf07clink")) },
		func() error { return os.Symlink("made\uf05cfolder\\in", at("li\uf03fnk")) },
		func() error { return os.WriteFile(at("made\uf02aFILE"), []byte("made"), 0o666) }, // the same file
		func() error { return os.Mkdir(at("empty\uf03a"), 0o777) },
		func() error { return os.Remove(at("empty\uf03a")) },
	} {
		if err := step(); err != nil {
			t.Errorf("%q", err)
		}
	}

	if got, err := os.ReadFile(at("li\uf03fnk")); err != nil || string(got) != "inner" {
		t.Errorf("by the link: %q, %v", got, err)
	}
	if got, err := os.Readlink(at("li\uf03fnk")); err != nil || got != "made\uf05cfolder\\in" {
		t.Errorf("the link: %q, %v", got, err)
	}
	if err := os.Mkdir(at("made\uf02afile"), 0o777); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a folder in a file's place: %v", err)
	}

	if _, err := os.Stat(at("none\uf02a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(at("letter\uf041"), nil, 0o666); err == nil {
		t.Error("a file was made whose name stands for another one")
	}

	for _, path := range []string{"../out\uf02a", "..\\out\uf02a"} {
		if err := renameBelow(at("made\uf02afile"), path); err == nil {
			t.Errorf("renamed to %q, which is no name in the file's folder", path)
		}
	}

	entries, err := os.ReadDir(at(""))
	if err != nil || len(entries) != 6 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

// renameBelow gives a file a name in its own folder, which Windows' own function asks for with a whole path.
func renameBelow(file, name string) error {
	path, err := windows.UTF16PtrFromString(file)
	if err != nil {
		return err
	}
	handle, err := windows.CreateFile(path, windows.DELETE, windows.FILE_SHARE_READ, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(handle) }()

	const head = 20 // FILE_RENAME_INFORMATION: replace it, a folder's handle, the length of the name
	letters := utf16.Encode([]rune(name))
	info := make([]byte, head, head+2*len(letters))
	binary.LittleEndian.PutUint32(info[head-4:], uint32(2*len(letters)))
	for _, c := range letters {
		info = binary.LittleEndian.AppendUint16(info, c)
	}

	var io windows.IO_STATUS_BLOCK
	return windows.NtSetInformationFile(handle, &io, &info[0], uint32(len(info)), windows.FileRenameInformation)
}

// TestOddNamesDeep removes folders in one another whose path is longer than any that Windows or Linux can say.
func TestOddNamesDeep(t *testing.T) {
	if err := os.RemoveAll(oddTrees(t, "deep")[0]); err != nil {
		t.Errorf("remove: %.300q", err)
	}
}

// TestSizesOfRoom is run as kubelet.exe, and TestSizesOfFiles by another name.
func TestSizesOfRoom(t *testing.T) {
	if filepath.Base(os.Args[0]) != "kubelet.exe" {
		t.Skip("run by another name")
	}
	listedSizes(t, map[string]int64{"hole": 0, "behind": 4 << 20, "small": 3})
}

func TestSizesOfFiles(t *testing.T) {
	if filepath.Base(os.Args[0]) == "kubelet.exe" {
		t.Skip("run as kubelet.exe")
	}
	listedSizes(t, map[string]int64{"hole": 1 << 40, "behind": 0, "small": 3})
}

func listedSizes(t *testing.T, want map[string]int64) {
	t.Helper()
	entries, err := os.ReadDir(oddTrees(t, "sizes")[0])
	if err != nil || len(entries) != 2*len(want) {
		t.Fatalf("%v, %v", entries, err)
	}

	for _, entry := range entries {
		_, kind, _ := strings.Cut(entry.Name(), "-")
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() != want[kind] {
			t.Errorf("%q has %d bytes in the listing, want %d", entry.Name(), info.Size(), want[kind])
		}
	}
}
