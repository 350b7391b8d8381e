package logmonitor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// folderTest is a follower and what it printed since it was asked last.
type folderTest struct {
	*follower
	t     *testing.T
	now   time.Time
	lines []string
	said  []string
}

func follow(t *testing.T, dir, names string, recursive bool) *folderTest {
	t.Helper()
	fits, err := filter(names)
	if err != nil {
		t.Fatal(err)
	}

	f := &folderTest{t: t, now: time.Now()}
	f.follower = &follower{
		fileSource: fileSource{
			dir:       dir,
			filter:    fits,
			recursive: recursive,
			wait:      10 * time.Second,
		},
		print:    func(name, line string) { f.lines = append(f.lines, filepath.ToSlash(name)+": "+line) },
		complain: func(format string, args ...any) { f.said = append(f.said, fmt.Sprintf(format, args...)) },
	}
	f.want()

	return f
}

// want looks once and compares what was printed.
func (f *folderTest) want(lines ...string) {
	f.t.Helper()
	f.poll(f.now, false)
	if diff := cmp.Diff(lines, f.lines); diff != "" {
		f.t.Errorf("printed (-want +got):\n%s", diff)
	}
	f.lines = nil
	f.now = f.now.Add(interval)
}

func (f *folderTest) write(name, text string) {
	f.t.Helper()
	f.put(name, text, os.O_APPEND)
}

func (f *folderTest) put(name, text string, how int) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	file, err := os.OpenFile(path, how|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		f.t.Fatal(err)
	}

	if _, err := file.WriteString(text); err != nil {
		f.t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folderTest) rename(from, to string) {
	f.t.Helper()
	if err := os.Rename(filepath.Join(f.dir, from), filepath.Join(f.dir, to)); err != nil {
		f.t.Fatal(err)
	}
}

func TestGrowth(t *testing.T) {
	dir := t.TempDir()
	old := &folderTest{t: t, follower: &follower{fileSource: fileSource{dir: dir}}}
	old.write("a.log", "before\nhalf ")
	f := follow(t, dir, "*.log", false)
	f.write("a.log", "a line\r\n\r\nnext\n")
	f.write("b.log", "new\n")
	f.write("c.txt", "other\n")
	f.write("sub/d.log", "below\n")
	f.want("a.log: a line", "a.log: next", "b.log: new")
	f.want()
	f.write("b.log", "without an")
	f.want()
	f.write("b.log", " end")
	f.want()
	f.now = f.now.Add(patience)
	f.want("b.log: without an end")
	f.write("b.log", "\nlast")
	f.want()
	f.poll(f.now, true)
	f.want("b.log: last")
}

func TestSubdirectories(t *testing.T) {
	f := follow(t, t.TempDir(), "*", true)
	f.write("a/b/c.log", "one\n")
	f.want("a/b/c.log: one")
	f.rename("a/b", "a/d")
	f.write("a/d/c.log", "two\n")
	f.want("a/d/c.log: two")
}

func TestRotation(t *testing.T) {
	f := follow(t, t.TempDir(), "*.log", false)
	f.write("a.log", "one\n")
	f.want("a.log: one")

	f.write("a.log", "two\n") // to a name that fits
	f.rename("a.log", "a.1.log")
	f.write("a.log", "three\n")
	f.want("a.1.log: two", "a.log: three")
	f.write("a.1.log", "four\n")
	f.want("a.1.log: four")

	f.write("a.log", "five\nsi") // to one that does not
	f.rename("a.log", "a.log.1")
	f.write("a.log", "seven\n")
	f.want("a.log: seven", "a.log: five", "a.log: si")
	f.write("a.log.1", "x\n")
	f.want()

	f.put("a.log", "x\n", os.O_TRUNC)
	f.want("a.log: x")
	if err := os.Remove(filepath.Join(f.dir, "a.log")); err != nil {
		t.Fatal(err)
	}

	f.want()
	f.write("a.log", "anew, and longer than before\n")
	f.want("a.log: anew, and longer than before")
	if f.said != nil {
		t.Errorf("%q", f.said)
	}
}

func TestFolderComesLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	f := follow(t, dir, "", false)
	f.write("a", "first\n")
	f.want("a: first")

	f = follow(t, filepath.Join(dir, "none"), "", false)
	f.now = f.now.Add(f.wait)
	f.want()
	f.want()
	want := []string{"ERROR: The directory " + f.dir + " is not there after 10s (waitInSeconds). Its files are not monitored."}
	if diff := cmp.Diff(want, f.said); diff != "" {
		t.Error(diff)
	}

	f.write("a", "too late\n")
	f.want()
}

func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read all")
	}

	f := follow(t, t.TempDir(), "", false)
	f.write("a", "one\n")
	f.want("a: one")
	path := filepath.Join(f.dir, "a")
	f.write("a", "two\n")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}

	f.want()
	f.want()
	if len(f.said) != 1 || !strings.Contains(f.said[0], "permission denied") {
		t.Errorf("%q", f.said)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	f.want("a: two")
}

// wide returns a text in UTF-16.
func wide(text string, high, low int) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		pair := [2]byte{}
		pair[high], pair[low] = byte(unit>>8), byte(unit)
		b = append(b, pair[:]...)
	}
	return string(b)
}

func TestEncodings(t *testing.T) {
	const text = "ü €\r\n𝄞 Ċ\n" // U+010A has the byte of a line's end in it
	want := []string{"x: ü €", "x: 𝄞 Ċ"}
	for name, all := range map[string]string{
		"utf8":          text,
		"utf8_mark":     "\xef\xbb\xbf" + text,
		"utf16_little":  wide("\ufeff"+text, 1, 0),
		"utf16_big":     wide("\ufeff"+text, 0, 1),
		"short_in_utf8": "\nü €\n𝄞 Ċ\n",
	} {
		t.Run(name, func(t *testing.T) {
			f := follow(t, t.TempDir(), "", false)
			f.write("x", all)
			f.want(want...)
			f = follow(t, t.TempDir(), "", false) // byte by byte
			for _, b := range []byte(all) {
				f.write("x", string([]byte{b}))
				f.poll(f.now, false)
			}

			f.want(want...)
		})
	}

	t.Run("known_before", func(t *testing.T) {
		dir := t.TempDir()
		(&folderTest{t: t, follower: &follower{fileSource: fileSource{dir: dir}}}).write("x", wide("\ufeffold\n", 1, 0))
		f := follow(t, dir, "", false)
		f.write("x", wide(text, 1, 0))
		f.want(want...)
	})

	t.Run("no_text", func(t *testing.T) {
		f := follow(t, t.TempDir(), "", false)
		f.write("x", "a\xffb\n")
		f.want("x: a\ufffdb")
	})

	t.Run("endless", func(t *testing.T) {
		f := follow(t, t.TempDir(), "", false)
		f.write("x", strings.Repeat("a", mostPending+1)+"\n")
		f.want("x: "+strings.Repeat("a", mostPending), "x: a")
	})
}

// FuzzLines checks that a text gives the same lines whether it is read at once or in two parts.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\nb\nc"), uint(2))
	f.Add([]byte("\xff\xfea\x00\n\x00"), uint(3))
	f.Add([]byte("\xfe\xff\x00a\x00\n\xd8"), uint(3))
	f.Add([]byte("\xef\xbb\xbfa\n"), uint(1))
	f.Fuzz(func(t *testing.T, text []byte, at uint) {
		enc, size := markOf(text)
		text = text[size:]
		once, rest := enc.lines(text)
		i := int(at % uint(len(text)+1))
		first, pending := enc.lines(text[:i])
		second, left := enc.lines(append(append([]byte(nil), pending...), text[i:]...))
		got := append(first, second...)
		if strings.Join(once, "\n") != strings.Join(got, "\n") || string(rest) != string(left) {
			t.Errorf("%q and %q, in parts %q and %q", once, rest, got, left)
		}

		_ = enc.decode(rest)
	})
}

// What cannot be read after it was opened, as a folder, is told of once, and tried again.
func TestNotReadAfterItWasOpened(t *testing.T) {
	var said []string
	f := &follower{
		fileSource: fileSource{dir: t.TempDir()},
		complain:   func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) },
		tails:      map[fileID]*tail{},
		failed:     map[string]bool{},
	}

	if err := os.Mkdir(filepath.Join(f.dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, ok := f.read("a", time.Now(), false); ok {
			t.Error("a folder is read as a file")
		}
	}

	if len(said) != 1 || !strings.Contains(said[0], "directory. It is tried again.") {
		t.Errorf("said %q", said)
	}
}
