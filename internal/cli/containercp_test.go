package cli

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestContainerPlace(t *testing.T) {
	for arg, want := range map[string][2]string{
		`web:C:\a`: {"web", `C:\a`}, "web:/a": {"web", "/a"}, "web:a": {"web", "a"},
		"./a:b": {}, "/a:b": {}, "a": {}, "web:": {}, ":a": {}, `a\b:c`: {}, "-": {}, ".:a": {},
	} {
		name, winPath, ok := containerPlace(arg)
		if got := [2]string{name, winPath}; got != want || ok != (want[0] != "") {
			t.Errorf("%q: %q, %v", arg, got, ok)
		}
	}
	for winPath, want := range map[string][2]string{
		`C:\a\b`: {`C:\a\`, "b"}, `C:\a\`: {`C:\`, "a"}, `C:\`: {`C:\`, "."}, "d:": {`d:\`, "."}, "/a/b/": {"/a/", "b"},
		`\`: {`C:\`, "."}, "a": {`.\`, "a"}, `a/b\c`: {`a/b\`, "c"},
	} {
		if dir, name := splitWindows(winPath); [2]string{dir, name} != want {
			t.Errorf("%q: %q, %q", winPath, dir, name)
		}
	}
}

// packed is an archive of some entries.
func packed(t *testing.T, heads ...tar.Header) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range heads {
		if h.Typeflag == tar.TypeReg {
			h.Size = 4
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(w, "text"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// inFolder are the files and folders below one.
func inFolder(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestUnpackHostile: what a container's tar says is its own word. Nothing comes out of the folder, through a link that
// leads out, or into what is no file; links are not made.
func TestUnpackHostile(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	for _, tc := range []struct {
		name  string
		heads []tar.Header
		want  []string
		err   string
	}{
		{"a file", []tar.Header{file("./x")}, []string{"y"}, ""},
		{
			"a folder",
			[]tar.Header{{Name: "./x/", Typeflag: tar.TypeDir}, file("./x/a/b")},
			[]string{"y", "y/a", "y/a/b"},
			"",
		},
		{"another name", []tar.Header{file("z")}, nil, "not in what was asked for"},
		{"a longer name", []tar.Header{file("xx")}, nil, "not in what was asked for"},
		{"a path that leads out", []tar.Header{file("./x/../../z")}, nil, "not in what was asked for"},
		{"an absolute path", []tar.Header{file("/x")}, nil, "not in what was asked for"},
		{
			"a link, and a file through it",
			[]tar.Header{{Name: "x/l", Linkname: filepath.Dir(outside), Typeflag: tar.TypeSymlink}, file("x/l/outside")},
			[]string{"y", "y/l", "y/l/outside"},
			"",
		},
		{"a hard link", []tar.Header{{Name: "x", Linkname: outside, Typeflag: tar.TypeLink}}, nil, ""},
		{"a device", []tar.Header{{Name: "x", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}}, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			var said bytes.Buffer
			u := &unpacking{root: root, from: "x", as: "y", said: &said}
			err = u.unpack(packed(t, tc.heads...))
			if (err == nil) != (tc.err == "") || (err != nil && !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%v, want %q", err, tc.err)
			}
			if diff := cmp.Diff(append([]string{"."}, tc.want...), inFolder(t, dir)); diff != "" {
				t.Error(diff)
			}
			link := strings.Contains(tc.name, "link") || strings.Contains(tc.name, "device")
			if link != strings.Contains(said.String(), "is left out") {
				t.Errorf("it is said: %q", said.String())
			}
		})
	}
	dir := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "y")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "p"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, as := range []string{"y", "p"} {
		if err := (&unpacking{root: root, from: "x", as: as}).unpack(packed(t, file("x"))); err == nil {
			t.Errorf("%s is written to", as)
		}
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "mine" {
		t.Errorf("outside: %q, %v", text, err)
	}
	if err := (&unpacking{root: root, from: "x"}).unpack(strings.NewReader("no archive, but long enough")); err == nil {
		t.Error("what is no archive is taken")
	}
}

// TestPack: a folder of this machine with links and pipes: they are left out, and hold nobody up.
func TestPack(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"conf/sub", "conf/empty"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"conf/a", "conf/sub/b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "conf/link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "conf/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	var b, said bytes.Buffer
	if err := (containerTar{said: &said}).pack(&b, filepath.Join(dir, "conf"), "new"); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for r := tar.NewReader(&b); ; {
		head, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[head.Name] = string(text)
	}
	want := map[string]string{"new/": "", "new/a": "conf/a", "new/sub/": "", "new/sub/b": "conf/sub/b", "new/empty/": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(said.String(), "is left out"); n != 2 {
		t.Errorf("said: %s", &said)
	}
}

// TestFirstWords bounds what is kept of what a container says.
func TestFirstWords(t *testing.T) {
	w := &firstWords{}
	for range 10 {
		if n, err := w.Write(make([]byte, 1500)); n != 1500 || err != nil {
			t.Fatal(n, err)
		}
	}
	if w.Len() != mostOfWords {
		t.Errorf("%d bytes are kept", w.Len())
	}
}
