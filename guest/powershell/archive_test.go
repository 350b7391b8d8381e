package powershell

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// archiveOf writes an archive with an item of each name, some of a kind of their own.
func archiveOf(t *testing.T, path string, kinds map[string]fs.FileMode, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		h := &zip.FileHeader{
			Name:     name,
			Method:   zip.Deflate,
			Modified: time.Unix(1e9, 0),
		}
		if kind, given := kinds[name]; given {
			h.SetMode(kind)
		}

		out, err := w.CreateHeader(h)
		if err == nil && !strings.HasSuffix(name, "/") {
			_, err = out.Write([]byte("of " + name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tree returns the paths of all files and folders below a folder.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			if e.IsDir() {
				rel += "/"
			}
			all = append(all, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	slices.Sort(all)
	return all
}

// TestHostileArchives unpacks archives whose items would leave the folder. Each is an error, the good item beside it is
// there, and nothing is written elsewhere.
func TestHostileArchives(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	kinds := map[string]fs.FileMode{
		"link": fs.ModeSymlink | 0o777, "pipe": fs.ModeNamedPipe | 0o644, "device": fs.ModeDevice | 0o644,
		"link/": fs.ModeSymlink | 0o777,
	}

	for _, name := range []string{
		"../out", "a/../../out", "a/../b", "..", "../", `..\out`, `a\..\..\out`, "/out", "//host/share/out", `\out`,
		`\\host\share\out`, "C:/out", `C:\out`, "C:out", "f:stream", "a//b", ".. /out", "..../out", "f.", "f ", "a /b",
		"NUL", "a/con.txt", "com1", "LPT9.x", "COM¹", "conin$", "a\x00b", "a\nb", "a*", "a?", `a"`, "a<", "a|b", "",
		"link", "pipe", "device",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "work"), 0o755); err != nil {
				t.Fatal(err)
			}

			archiveOf(t, filepath.Join(dir, "work", "bad.zip"), kinds, name, "good/f")
			got := run(t, filepath.Join(dir, "work"), nil, "/c", "Expand-Archive bad.zip to -Force; $?")
			message := "Can not process invalid archive entry '" + name + "'."
			if !strings.Contains(got.errs, message) || got.out != "False\n" {
				t.Errorf("%+v", got)
			}

			want := []string{"work/", "work/bad.zip", "work/to/", "work/to/good/", "work/to/good/f"}
			if have := tree(t, dir); !slices.Equal(have, want) {
				t.Errorf("there is %q, want %q", have, want)
			}
			if _, err := os.Lstat("/out"); err == nil {
				t.Error("there is /out")
			}
		})
	}
}

// TestUnpackedThroughALink checks that an archive's items do not go through a link that is in the folder already.
func TestUnpackedThroughALink(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "to"), 0o755); err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(other, "victim")
	if err := os.WriteFile(victim, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}

	for name, target := range map[string]string{"way": other, "f": victim} {
		if err := os.Symlink(target, filepath.Join(dir, "to", name)); err != nil {
			t.Fatal(err)
		}
	}

	archiveOf(t, filepath.Join(dir, "a.zip"), nil, "way/new", "way/deep/", "f", "g")
	got := run(t, dir, nil, "/c", "Expand-Archive a.zip to -Force; Get-Content to/f, to/g")
	if strings.Count(got.errs, "is no folder") != 2 || got.out != "of f\nof g\n" {
		t.Errorf("%+v", got)
	}
	if data, err := os.ReadFile(victim); err != nil || string(data) != "old" || len(tree(t, other)) != 1 {
		t.Errorf("the folder behind the link has %q, the file %q, %v", tree(t, other), data, err)
	}
}

// TestBrokenArchives cuts an archive at each length, and changes each of its bytes. Nothing of it gets out of the
// folder, and it does not end the program.
func TestBrokenArchives(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.zip")
	whole := archiveOf(t, path, nil, "d/f", `e\g`)
	try := func(data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		got := run(t, dir, nil, "/c", "Expand-Archive a.zip to -Force; if (Test-Path to) { Remove-Item to -Recurse }")
		for _, name := range tree(t, dir) {
			if name != "a.zip" {
				t.Errorf("%q leaves %s: %+v", data, name, got)
			}
		}
	}

	for n := range whole {
		try(whole[:n])
		changed := bytes.Clone(whole)
		changed[n] ^= 0x21
		try(changed)
	}

	if got := run(t, dir, nil, "/c", "Expand-Archive a.zip to"); got.code != 1 {
		t.Errorf("a broken archive is unpacked: %+v", got)
	}
}

// TestUnpackedTimes checks that files keep their time, and that the names of PowerShell 5.1's own archives, with
// backslashes, are folders.
func TestUnpackedTimes(t *testing.T) {
	dir := t.TempDir()
	archiveOf(t, filepath.Join(dir, "a.zip"), nil, `d\f`, `e\`, "./g")
	if got := run(t, dir, nil, "/c", "Expand-Archive a.zip"); got.errs != "" || got.code != 0 {
		t.Errorf("%+v", got)
	}
	if have := tree(t, filepath.Join(dir, "a")); !slices.Equal(have, []string{"d/", "d/f", "e/", "g"}) {
		t.Errorf("there is %q", have)
	}
	if info, err := os.Stat(filepath.Join(dir, "a", "d", "f")); err != nil || !info.ModTime().Equal(time.Unix(1e9, 0)) {
		t.Errorf("%v, %v", info, err)
	}
}

// TestPackedItems checks the names in an archive, and what is no file.
func TestPackedItems(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"d/f", "d/e/deep/g", "h"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Chtimes(filepath.Join(dir, "h"), time.Time{}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}

	methods := map[string]uint16{"Optimal": zip.Deflate, "Fastest": zip.Deflate, "NoCompression": zip.Store}
	for level, method := range methods {
		got := run(t, dir, nil, "/c", "Compress-Archive h, d a -Force -CompressionLevel "+level)
		r, err := zip.OpenReader(filepath.Join(dir, "a.zip"))
		if err != nil || got.code != 0 {
			t.Fatalf("%v: %+v", err, got)
		}

		var names []string
		for _, f := range r.File {
			names = append(names, f.Name)
			if f.Method != method && !strings.HasSuffix(f.Name, "/") {
				t.Errorf("%s: %s has method %d", level, f.Name, f.Method)
			}
		}

		if want := []string{"d/f", "d/e/", "d/e/deep/g", "h"}; !slices.Equal(names, want) {
			t.Errorf("%q, want %q", names, want)
		}
		if year := r.File[3].Modified.Year(); year != 1980 {
			t.Errorf("a file of 1970 is of %d", year)
		}
		r.Close()
	}

	if err := os.Symlink(filepath.Join(dir, "none"), filepath.Join(dir, "d", "none")); err != nil {
		t.Fatal(err)
	}
	got := run(t, dir, nil, "/c", "Compress-Archive d b")
	if got.code != 1 || !strings.Contains(got.errs, "Cannot find path") {
		t.Errorf("a link to nothing: %+v", got)
	}

	if err := os.Symlink(dir, filepath.Join(dir, "d", "round")); err != nil {
		t.Fatal(err)
	}
	got = run(t, dir, nil, "/c", "Compress-Archive d c")
	if got.code != 1 || !strings.Contains(got.errs, "a link to a folder") {
		t.Errorf("a link to a folder: %+v", got)
	}

	extra := func(name string) bool { return strings.Contains(name, "~") || name == "c.zip" }
	if have := tree(t, dir); slices.ContainsFunc(have, extra) {
		t.Errorf("there is %q", have)
	}
}
