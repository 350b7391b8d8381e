package tar

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
)

type result struct {
	code     int
	out, err string
}

func do(t *testing.T, in []byte, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := Run(Streams{bytes.NewReader(in), &out, &errs}, args)
	return result{code, out.String(), errs.String()}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// tree returns what is below a folder: texts of files, "folder", or where a link leads.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, entry os.DirEntry, err error) error {
		if err != nil || file == dir {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}

		name = filepath.ToSlash(name)
		switch {
		case entry.IsDir():
			got[name] = "folder"
		case entry.Type()&os.ModeSymlink != 0:
			to, err := os.Readlink(file)
			if err != nil {
				return err
			}
			got[name] = "-> " + to

		default:
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			got[name] = string(text)
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var sampleTree = map[string]string{"d": "folder", "d/a.txt": "a", "d/e": "folder", "d/e/b.txt": "b", "d/link": "-> a.txt"}

func sample(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{"d/a.txt": "a", "d/e/b.txt": "b"})
	if err := os.Symlink("a.txt", filepath.Join(dir, "d", "link")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestThereAndBack(t *testing.T) {
	from := sample(t)
	for name, options := range map[string][]string{
		"x.tar": {"-cf"}, "x.tgz": {"-czf"}, "y.tar.gz": {"-acf"}, "x.tar.zst": {"--zstd", "-cf"}, "x.zip": {"-a", "-c", "-f"},
		"y.zip": {"--format=zip", "-cf"}, "old.tar": {"cf"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name)
			if got := do(t, nil, append(options, file, "-C", from, "d")...); got != (result{}) {
				t.Fatalf("make: %+v", got)
			}
			to := t.TempDir()
			if got := do(t, nil, "-xf", file, "-C", to); got != (result{}) {
				t.Fatalf("unpack: %+v", got)
			}

			if diff := cmp.Diff(sampleTree, tree(t, to)); diff != "" {
				t.Error(diff)
			}
			if got := do(t, nil, "tf", file); got.out != "d/\nd/a.txt\nd/e/\nd/e/b.txt\nd/link\n" {
				t.Errorf("list: %+v", got)
			}
		})
	}
}

// TestKubectlCopies makes and unpacks archives with the arguments of kubectl cp
// (https://github.com/kubernetes/kubectl/blob/v0.36.3/pkg/cmd/cp/cp.go).
func TestKubectlCopies(t *testing.T) {
	from, to := sample(t), t.TempDir()
	packed := do(t, nil, "cf", "-", from+"/d")
	if packed.code != 0 || packed.err != "tar: Removing leading '/' from member names\n" {
		t.Fatalf("%d %s", packed.code, packed.err)
	}
	if got := do(t, []byte(packed.out), "-xmf", "-", "-C", to, "--strip-components", "3"); got.code != 0 {
		t.Fatalf("%+v", got)
	}

	before := time.Now().Add(-time.Hour)
	if got := do(t, []byte(packed.out), "--no-same-permissions", "--no-same-owner", "-xmf", "-", "-C", to); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	info, err := os.Stat(filepath.Join(to, from, "d", "a.txt"))
	if err != nil || info.ModTime().Before(before) {
		t.Errorf("%v, %v", info, err)
	}
}

func TestTimes(t *testing.T) {
	from, to := sample(t), t.TempDir()
	when := time.Date(2001, 2, 3, 4, 5, 6, 0, time.Local)
	for _, name := range []string{"d/a.txt", "d/e/b.txt", "d/e", "d"} {
		if err := os.Chtimes(filepath.Join(from, name), when, when); err != nil {
			t.Fatal(err)
		}
	}

	packed := do(t, nil, "-C", from, "-cf", "-", "d")
	if got := do(t, []byte(packed.out), "-xf", "-", "-C", to); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	for _, name := range []string{"d/a.txt", "d/e/b.txt", "d/e", "d"} {
		if info, err := os.Stat(filepath.Join(to, name)); err != nil || !info.ModTime().Equal(when) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}

	listed := do(t, []byte(packed.out), "-tvf", "-", "d/a.txt")
	if want := "-rw-------  0 0      0               1 Feb  3  2001 d/a.txt\n"; listed.out != want {
		t.Errorf("got %q, want %q", listed.out, want)
	}
}

func TestChoices(t *testing.T) {
	from := sample(t)
	packed := []byte(do(t, nil, "-C", from, "-cf", "-", "d").out)
	for _, tt := range []struct {
		name string
		args []string
		want map[string]string
		err  string
		code int
	}{
		{"one", []string{"d/a.txt"}, map[string]string{"d": "folder", "d/a.txt": "a"}, "", 0},
		{"below", []string{"d/e"}, map[string]string{"d": "folder", "d/e": "folder", "d/e/b.txt": "b"}, "", 0},
		{"pattern", []string{"d/*.txt"}, map[string]string{"d": "folder", "d/a.txt": "a"}, "", 0},
		{"excluded", []string{"--exclude", "*.txt", "--exclude=link"}, map[string]string{"d": "folder", "d/e": "folder"}, "", 0},
		{"strip", []string{"--strip-components=2"}, map[string]string{"b.txt": "b"}, "", 0},
		{
			"not there",
			[]string{"none"},
			map[string]string{},
			"tar: none: Not found in archive\ntar: Error exit delayed from previous errors.\n", 1,
		},
		{"verbose", []string{"-v", "d/a.txt"}, map[string]string{"d": "folder", "d/a.txt": "a"}, "x d/a.txt\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			to := t.TempDir()
			got := do(t, packed, append([]string{"-xf", "-", "-C", to}, tt.args...)...)
			if got.code != tt.code || got.err != tt.err {
				t.Errorf("%+v", got)
			}
			if diff := cmp.Diff(tt.want, tree(t, to)); diff != "" {
				t.Error(diff)
			}
		})
	}

	if got := do(t, packed, "-xOf", "-", "d/a.txt", "d/e"); got != (result{0, "ab", ""}) {
		t.Errorf("%+v", got)
	}
}

func TestExisting(t *testing.T) {
	from := sample(t)
	packed := []byte(do(t, nil, "-C", from, "-cf", "-", "d").out)
	to := t.TempDir()
	write(t, to, map[string]string{"d/a.txt": "mine", "d/e/b.txt/c": "in the way"})
	got := do(t, packed, "-xkf", "-", "-C", to, "d/a.txt")
	if text := tree(t, to)["d/a.txt"]; got.code != 0 || text != "mine" {
		t.Errorf("%+v, %q", got, text)
	}

	got = do(t, packed, "-xf", "-", "-C", to)
	want := result{
		1, "",
		"tar: d/e/b.txt: Can't replace existing directory with non-directory\ntar: Error exit delayed from previous errors.\n",
	}
	if text := tree(t, to)["d/a.txt"]; got != want || text != "a" {
		t.Errorf("%+v, %q", got, text)
	}
}

// hostile returns an archive whose names and links lead out of the folder it is unpacked in.
func hostile(t *testing.T, outside string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "../up", Typeflag: tar.TypeReg},
		{Name: `a\..\..\up`, Typeflag: tar.TypeReg},
		{Name: "out", Typeflag: tar.TypeSymlink, Linkname: outside},
		{Name: "out/up", Typeflag: tar.TypeReg},
		{Name: "out/folder/", Typeflag: tar.TypeDir},
		{Name: "hard", Typeflag: tar.TypeLink, Linkname: "out/secret"},
		{Name: "hard2", Typeflag: tar.TypeLink, Linkname: "../secret"},
		{Name: "device", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3},
		{Name: "/rooted", Typeflag: tar.TypeReg},
		{Name: `C:\drive`, Typeflag: tar.TypeReg},
		{Name: "ab:stream?", Typeflag: tar.TypeReg},
		{Name: "good", Typeflag: tar.TypeReg},
	} {
		h.Format = tar.FormatPAX
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestStaysInside(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{"outside/secret": "s", "to/x": ""})
	got := do(t, hostile(t, filepath.Join(top, "outside")), "-xf", "-", "-C", filepath.Join(top, "to"))
	if got.code != 1 {
		t.Errorf("%+v", got)
	}

	if diff := cmp.Diff(map[string]string{
		"outside": "folder", "outside/secret": "s", "to": "folder", "to/x": "", "to/out": "-> " + filepath.Join(top, "outside"),
		"to/rooted": "", "to/drive": "", "to/ab_stream_": "", "to/good": "",
	}, tree(t, top)); diff != "" {
		t.Errorf("%s\n%s", diff, got.err)
	}

	for _, line := range []string{
		"tar: ../up: Path contains '..'\n", "tar: Removing leading '/' from member names\n",
		"tar: Removing leading drive letter from member names\n", "tar: device: Can't create 'device': Only files, folders and links can be unpacked\n",
	} {
		if !strings.Contains(got.err, line) {
			t.Errorf("no %q in %q", line, got.err)
		}
	}
}

func TestHostileZip(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range []string{"../up", "good"} {
		if _, err := w.Create(name); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	got := do(t, b.Bytes(), "xf", "-", "-C", to)
	if diff := cmp.Diff(map[string]string{"good": ""}, tree(t, to)); diff != "" || got.code != 1 {
		t.Errorf("%+v\n%s", got, diff)
	}
}

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"text": "this is no archive", "a": "a"})
	text := filepath.Join(dir, "text")
	whole := do(t, nil, "-czf", "-", "-C", dir, "a").out
	for _, tt := range []struct {
		name string
		in   string
		args []string
		err  string
	}{
		{"nothing", "", nil, "Must specify one of -c, -t, -x"},
		{"two modes", "", []string{"-c", "-x"}, "Can't specify both -x and -c"},
		{"unknown", "", []string{"-cWf", "x"}, "Option -W is not supported"},
		{"unknown long", "", []string{"--absolute-names", "-x"}, "Option --absolute-names is not supported"},
		{"no value", "", []string{"-xf"}, "Option -f requires an argument"},
		{"no value, old", "", []string{"xf"}, "Option f requires an argument"},
		{"value", "", []string{"--create=x"}, "Option --create does not allow an argument"},
		{"number", "", []string{"-x", "--strip-components", "-1"}, "Invalid argument to --strip-components: -1"},
		{"format", "", []string{"-c", "--format", "7zip", "a"}, "Can't use format 7zip: Unknown format"},
		{"no files", "", []string{"-cf", "-"}, "no files or directories specified"},
		{"no archive", "", []string{"-tf", dir + "/none"}, "Error opening archive: Failed to open '" + dir + "/none'"},
		{"no -f", "", []string{"-t"}, `Error opening archive: Failed to open '\\.\tape0'`},
		{"text", "", []string{"-tf", text}, "Error opening archive: Unrecognized archive format"},
		{"no folder", whole, []string{"-xf", "-", "-C", dir + "/none"}, "could not chdir to '" + dir + "/none'"},
		{"cut", whole[:len(whole)/2], []string{"-xOf", "-"}, ""},
		{"xz", "\xfd7zXZ\x00" + strings.Repeat("x", 300), []string{"-tf", "-"}, "Error opening archive: xz archives are not supported"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := do(t, []byte(tt.in), tt.args...)
			if got.code != 1 || (tt.err != "" && got.err != "tar: "+tt.err+"\n") || got.err == "" {
				t.Errorf("%+v, want %q", got, tt.err)
			}
		})
	}

	got := do(t, nil, "-cf", filepath.Join(dir, "x.tar"), "-C", dir, "a", "none")
	if want := "tar: none: Cannot stat: No such file or directory\ntar: Error exit delayed from previous errors.\n"; got.err != want || got.code != 1 {
		t.Errorf("%+v", got)
	}
	if got := do(t, nil, "-tf", filepath.Join(dir, "x.tar")); got.out != "a\n" {
		t.Errorf("%+v", got)
	}

	if got := do(t, nil, "--version"); got.out != version+"\n" || got.code != 0 {
		t.Errorf("%+v", got)
	}
}

func TestArchiveInItsFolder(t *testing.T) {
	dir := sample(t)
	got := do(t, nil, "-cf", filepath.Join(dir, "x.tar"), "-C", dir, ".")
	if got.code != 0 || got.err != "tar: ./x.tar: Can't add archive to itself\n" {
		t.Errorf("%+v", got)
	}
}
