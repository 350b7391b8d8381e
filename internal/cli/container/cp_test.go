package container

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/single"
)

func TestContainerPlace(t *testing.T) {
	for arg, want := range map[string][2]string{
		`web:C:\a`: {"web", `C:\a`}, "web:/a": {"web", "/a"}, "web:a": {"web", "a"},
		"./a:b": {}, "/a:b": {}, "a": {}, "web:": {}, ":a": {}, `a\b:c`: {}, "-": {}, ".:a": {},
	} {
		name, winPath, ok := place(arg)
		if got := [2]string{name, winPath}; got != want || ok != (want[0] != "") {
			t.Errorf("%q: %q, %v", arg, got, ok)
		}
	}

	for winPath, want := range map[string][2]string{
		`C:\a\b`: {`C:\a\`, "b"}, `C:\a\`: {`C:\`, "a"}, `C:\`: {`C:\`, "."}, "d:": {`d:\`, "."}, "/a/b/": {"/a/", "b"},
		`\`: {`C:\`, "."}, "a": {`C:\`, "a"}, `a/b\c`: {`C:\a/b\`, "c"}, "d:a": {`d:\`, "a"},
	} {
		if dir, name := splitWindows(winPath); [2]string{dir, name} != want {
			t.Errorf("%q: %q, %q", winPath, dir, name)
		}
	}
}

// hole begins the records of files with holes in an archive, which archive/tar does not write under their own name.
const hole = "GNU.sparSe."

// packed returns an archive of some entries.
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
	return bytes.NewReader(bytes.ReplaceAll(b.Bytes(), []byte(hole), []byte("GNU.sparse.")))
}

// inFolder returns the files and folders below one.
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
	testrun.Once(t, testrun.Attack)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}

	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	holes := file("x")
	holes.PAXRecords = map[string]string{hole + "size": "1048576", hole + "numblocks": "1", hole + "map": "0,4"}
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
		{"a file with holes", []tar.Header{holes}, nil, "with holes"},
		{"lines of its own", []tar.Header{file("\nmullion: done")}, nil, "has ·mullion: done, which"},
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
			u := &unpacking{
				root: root,
				from: "x",
				as:   "y",
				left: &leftOut{to: &said},
			}

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
		u := &unpacking{
			root: root,
			from: "x",
			as:   as,
		}
		if err := u.unpack(packed(t, file("x"))); err == nil {
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
	if err := (tarIn{left: &leftOut{to: &said}}).pack(&b, filepath.Join(dir, "conf"), "new"); err != nil {
		t.Fatal(err)
	}

	got := map[string]string{}
	for r := tar.NewReader(&b); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
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

// TestPackSwapped: a file of a folder becomes a link to a file beside the folder, or of it, once it has been found.
func TestPackSwapped(t *testing.T) {
	testrun.Once(t, testrun.Race)
	dir := t.TempDir()
	conf := filepath.Join(dir, "conf")
	err := errors.Join(
		os.Mkdir(conf, 0o755),
		os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(conf, "other"), []byte("other"), 0o600),
		os.WriteFile(filepath.Join(conf, "file"), []byte("file"), 0o600))
	if err != nil {
		t.Fatal(err)
	}

	root, err := os.OpenRoot(conf)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	found, err := root.Lstat("file")
	if err != nil {
		t.Fatal(err)
	}

	pack := func() (string, error) {
		var b bytes.Buffer
		err := packFound(tar.NewWriter(&b), root, "file", "file", found)
		return b.String(), err
	}
	if got, err := pack(); err != nil || !strings.HasSuffix(strings.TrimRight(got, "\x00"), "file") {
		t.Errorf("%q, %v", got, err)
	}

	for _, to := range []string{"../secret", "other"} {
		file := filepath.Join(conf, "file")
		if err := errors.Join(os.Remove(file), os.Symlink(to, file)); err != nil {
			t.Fatal(err)
		}
		if got, err := pack(); err == nil || got != "" {
			t.Errorf("%s: %q, %v", to, got, err)
		}
	}
}

// swapping is what pack writes to: once a folder has been found, it becomes a link.
type swapping struct {
	bytes.Buffer
	swap func() error
}

func (s *swapping) Write(p []byte) (int, error) {
	if s.swap != nil && bytes.Contains(p, []byte("new/sub/")) {
		if err := s.swap(); err != nil {
			return 0, err
		}
		s.swap = nil
	}
	return s.Buffer.Write(p)
}

// TestPackBeside is TestPackSwapped for a whole folder: a link to what is beside it is not followed.
func TestPackBeside(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "conf")
	sub := filepath.Join(conf, "sub")
	err := errors.Join(
		os.MkdirAll(sub, 0o755),
		os.Mkdir(filepath.Join(dir, "beside"), 0o755),
		os.WriteFile(filepath.Join(dir, "beside", "file"), []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(sub, "file"), []byte("file"), 0o600))
	if err != nil {
		t.Fatal(err)
	}

	to := &swapping{swap: func() error {
		return errors.Join(os.Rename(sub, sub+"-old"), os.Symlink("../beside", sub))
	}}
	var said bytes.Buffer
	err = (tarIn{left: &leftOut{to: &said}}).pack(to, conf, "new")
	if err == nil || strings.Contains(to.String(), "secret") {
		t.Errorf("%v; what is beside the folder is read: %v", err, strings.Contains(to.String(), "secret"))
	}
}

// TestLeftOut: names from a container are within a line, and no more of them are said than somebody reads.
func TestLeftOut(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	var said bytes.Buffer
	l := &leftOut{to: &said}
	for range mostLeftOut + 30 {
		l.name("x\nmullion: all is copied\x1b[2J" + strings.Repeat("z", 1<<20))
	}

	l.more()
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	if len(lines) != mostLeftOut+1 || lines[mostLeftOut] != "mullion: 30 more are left out" {
		t.Errorf("%d lines, the last is %.80q", len(lines), lines[len(lines)-1])
	}

	for _, line := range lines[:mostLeftOut] {
		if !strings.HasPrefix(line, "mullion: x·mullion: all is copied·[2Jzz") || len(line) > 400 {
			t.Fatalf("%.100q", line)
		}
	}

	said.Reset()
	few := &leftOut{to: &said}
	few.name("one")
	few.more()
	if got := said.String(); got != "mullion: one is left out: it is neither a file nor a folder\n" {
		t.Errorf("%q", got)
	}
}

// tars are containers whose tar.exe writes something, and then ends, or as a client does waits for ever.
type tars struct {
	from    io.Reader
	waits   bool
	end     single.End
	refused error
	words   string // what it says is wrong
}

func (f tars) Exec(ctx context.Context, _ single.Exec, streams single.Streams) (single.End, error) {
	_, _ = io.Copy(streams.Out, f.from) // as a client: nobody reads any more
	_, _ = io.WriteString(streams.Err, f.words)
	if f.waits {
		<-ctx.Done()
		return single.End{}, context.Cause(ctx)
	}
	return f.end, f.refused
}

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestCopyOutEnds: an error here ends a tar.exe that still writes, and is the one that is said; one there is said, too.
func TestCopyOutEnds(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	half := func() io.Reader { return io.LimitReader(packed(t, file("x")), 514) }
	endless := io.MultiReader(packed(t, file("../x")), zeros{})
	gone := errors.New("the engine has ended")
	for name, tc := range map[string]struct {
		tars tars
		want string
	}{
		"leads out":   {tars{from: endless, waits: true}, "not in what was asked for"},
		"bad archive": {tars{from: strings.NewReader(strings.Repeat("no archive", 100)), waits: true}, "invalid tar header"},
		"gone":        {tars{from: half(), refused: gone}, "the engine has ended"},
		"half":        {tars{from: half(), end: single.End{Code: 3}}, "unexpected EOF"},
		"wrong":       {tars{from: packed(t, file("x")), end: single.End{Code: 3}}, "tar.exe ended with 3"},
		"none":        {tars{from: strings.NewReader(""), end: single.End{Code: 3}}, "Could not find the file"},
		"all":         {tars{from: packed(t, file("x"))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			c := tarIn{
				client: tc.tars,
				name:   "c",
				left:   &leftOut{to: io.Discard},
			}

			err := c.copyOut(ctx, `C:\x`, t.TempDir())
			if (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if ctx.Err() != nil {
				t.Error("it waits for a tar.exe that nobody reads")
			}
		})
	}

	forges := tars{
		from:  strings.NewReader(""),
		end:   single.End{Code: 1},
		words: "none\r\nmullion: all is copied\n",
	}

	c := tarIn{
		client: forges,
		name:   "c",
		left:   &leftOut{},
	}

	err := c.copyOut(t.Context(), `C:\x`, t.TempDir())
	refusal, ok := errors.AsType[*single.Refusal](err)
	if !ok || refusal.Remedy != "its tar.exe says: none·mullion: all is copied" {
		t.Errorf("%+v", refusal)
	}

	stopped := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(stopped) })
	err = (tarIn{client: tars{from: half(), waits: true}, left: &leftOut{}}).copyOut(ctx, `C:\x`, t.TempDir())
	if !errors.Is(err, stopped) {
		t.Errorf("a person who has seen enough is told %v", err)
	}
}

// TestFirstWords bounds what is kept of what a container says, as its output is copied.
func TestFirstWords(t *testing.T) {
	w := &firstWords{}
	if n, err := io.Copy(w, io.LimitReader(zeros{}, 1<<20)); n != 1<<20 || err != nil {
		t.Fatal(n, err)
	}
	if w.text.Len() != mostOfWords {
		t.Errorf("%d bytes are kept", w.text.Len())
	}
}
