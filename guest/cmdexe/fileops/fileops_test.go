package fileops

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/guest/cmdexe/disk"
)

// windows is the system of the tests.
type windows struct{}

func (windows) Version() string { return "10.0.17763.1" }

func (windows) Volume(path string) (string, uint32, error) {
	if strings.HasPrefix(path, "D:") {
		return "Data", 0xAB, nil
	}
	return "", 0x12345678, nil
}

func (windows) Free(string) uint64 { return 1 << 30 }

func (windows) Association(string, bool) (string, bool) { return "", false }

func (windows) Terminal(*os.File) bool { return false }

// step is a command and what it has to leave.
type step struct {
	line, input string
	out, err    string
	code        int32
}

// play runs commands one after the other in C:\w, with files in it.
func play(t *testing.T, files map[string]string, steps []step) {
	t.Helper()
	root := t.TempDir()
	when := time.Date(2026, 11, 29, 15, 4, 0, 0, time.Local)
	for name, text := range files {
		file := filepath.Join(root, "C/w", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(file, []byte(text), 0o644), os.Chtimes(file, when, when)); err != nil {
			t.Fatal(err)
		}
	}

	for _, s := range steps {
		name := s.line[:strings.IndexAny(s.line+" ", " /")]
		args := s.line[len(name):]
		var out, errs bytes.Buffer
		input := strings.Split(s.input, "\n")

		e := &Env{
			Disk: disk.Disk{Root: root}, System: windows{}, Dir: `C:\w`, Out: &out, Err: &errs,
			Full: func(name string) string {
				return disk.Full(name, `C:\w`, func(drive byte) string { return string([]byte{drive}) + `:\` })
			},
			Read: func() (string, bool) {
				if len(input) == 0 || s.input == "" {
					return "", false
				}
				line := input[0]
				input = input[1:]
				return line, true
			},
			Line:    func() (string, error) { return "", errors.ErrUnsupported },
			Stopped: func() bool { return false },
			Default: func(string) string { return "" },
		}

		code := Commands()[name](e, args)
		got := step{s.line, s.input, clean(out.String()), clean(errs.String()), code}
		if got != s {
			t.Errorf("%s:\ngot  out %q, err %q, code %d\nwant out %q, err %q, code %d",
				s.line, got.out, got.err, got.code, s.out, s.err, s.code)
		}
	}
}

func clean(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func TestDir(t *testing.T) {
	const head = " Volume in drive C has no label.\n Volume Serial Number is 1234-5678\n\n Directory of C:\\w\n\n"
	files := map[string]string{"a.txt": "12345", "b.log": strings.Repeat("x", 1234), "s/c.txt": "c"}

	play(t, files, []step{
		{line: `dir /b`, out: "a.txt\nb.log\ns\n"},
		{line: `dir/b *.txt`, out: "a.txt\n"},
		{line: `dir /b /ad`, out: "s\n"},
		{line: `dir /b /a-d`, out: "a.txt\nb.log\n"},
		{line: `dir /b /a:d-r`, out: "s\n"},
		{line: `dir /s/b *.txt`, out: "C:\\w\\a.txt\nC:\\w\\s\\c.txt\n"},
		{line: `dir /b /o-n /a-d`, out: "b.log\na.txt\n"},
		{line: `dir /b /o:s /a-d`, out: "a.txt\nb.log\n"},
		{line: `dir /b /o`, out: "s\na.txt\nb.log\n"},
		{line: `dir /b /l "C:\W\A.TXT"`, out: "a.txt\n"},
		{
			line: `dir /a-d`, out: head + "11/29/2026  03:04 PM                 5 a.txt\n11/29/2026  03:04 PM             1,234 b.log\n" +
				"               2 File(s)          1,239 bytes\n               0 Dir(s)   1,073,741,824 bytes free\n",
		},
		{
			line: `dir /-c b.*`, out: head + "11/29/2026  03:04 PM              1234 b.log\n" +
				"               1 File(s)           1234 bytes\n               0 Dir(s)      1073741824 bytes free\n",
		},
		{
			line: `dir /s *.txt`, out: head + "11/29/2026  03:04 PM                 5 a.txt\n               1 File(s)              5 bytes\n" +
				"\n Directory of C:\\w\\s\n\n11/29/2026  03:04 PM                 1 c.txt\n               1 File(s)              1 bytes\n" +
				"\n     Total Files Listed:\n               2 File(s)              6 bytes\n               0 Dir(s)   1,073,741,824 bytes free\n",
		},
		{line: `dir nosuch`, out: " Volume in drive C has no label.\n Volume Serial Number is 1234-5678\n", err: "File Not Found\n", code: 1},
		{line: `dir /b *.none`, err: "File Not Found\n", code: 1},
		{line: `dir C:\none\x`, out: " Volume in drive C has no label.\n Volume Serial Number is 1234-5678\n", err: "The system cannot find the path specified.\n", code: 1},
		{line: `dir /z`, err: "Invalid switch - \"z\".\n", code: 1},
	})
}

func TestCopy(t *testing.T) {
	files := map[string]string{"a.txt": "a", "b.txt": "b", "s/x": "x", "c.log": "c"}

	play(t, files, []step{
		{line: `copy a.txt n.txt`, out: "        1 file(s) copied.\n"},
		{line: `type n.txt`, out: "a"},
		{line: `copy a.txt s`, out: "        1 file(s) copied.\n"},
		{line: `copy *.txt s /y`, out: "a.txt\nb.txt\nn.txt\n        3 file(s) copied.\n"},
		{line: `copy /b a.txt+b.txt ab`, out: "a.txt\nb.txt\n        1 file(s) copied.\n"[len("a.txt\nb.txt\n"):]},
		{line: `type ab`, out: "ab"},
		{line: `copy /y *.log *.bak`, out: "c.log\n        1 file(s) copied.\n"},
		{line: `type c.bak`, out: "c"},
		{line: `copy a.txt b.txt`, input: "n", out: "Overwrite C:\\w\\b.txt? (Yes/No/All):         0 file(s) copied.\n", code: 1},
		{line: `copy a.txt b.txt`, input: "Yes", out: "Overwrite C:\\w\\b.txt? (Yes/No/All):         1 file(s) copied.\n"},
		{line: `copy a.txt a.txt`, out: "        0 file(s) copied.\n", err: "The file cannot be copied onto itself.\n", code: 1},
		{line: `copy none n`, out: "        0 file(s) copied.\n", err: "The system cannot find the file specified.\n", code: 1},
		{line: `copy a.txt none\`, out: "        0 file(s) copied.\n", err: "The system cannot find the path specified.\n", code: 1},
		{line: `copy`, err: "The syntax of the command is incorrect.\n", code: 1},
		{line: `copy nul empty`, out: "        1 file(s) copied.\n"},
		{line: `dir /b empty`, out: "empty\n"},
		{line: `copy s t1 /y`, out: "s\\a.txt\ns\\b.txt\ns\\n.txt\ns\\x\n        1 file(s) copied.\n"[len("s\\a.txt\ns\\b.txt\ns\\n.txt\ns\\x\n"):]},
	})
}

func TestMoveAndRename(t *testing.T) {
	files := map[string]string{"a.txt": "a", "b.txt": "b", "s/x": "x", "d/y": "y"}
	play(t, files, []step{
		{line: `move a.txt n.txt`, out: "        1 file(s) moved.\n"},
		{line: `move n.txt s`, out: "        1 file(s) moved.\n"},
		{line: `dir /b s`, out: "n.txt\nx\n"},
		{line: `move d e`, out: "        1 dir(s) moved.\n"},
		{line: `move /y b.txt s\x`, out: "        1 file(s) moved.\n"},
		{line: `type s\x`, out: "b"},
		{line: `move none x`, err: "The system cannot find the file specified.\n", code: 1},
		{line: `move s\* none`, err: "Cannot move multiple files to a single file.\n", code: 1},
		{line: `ren s\n.txt m.log`},
		{line: `rename s\m.log *.txt`},
		{line: `dir /b s`, out: "m.txt\nx\n"},
		{line: `ren s\m.txt x`, err: "A duplicate file name exists, or the file\ncannot be found.\n", code: 1},
		{line: `ren none x`, err: "The system cannot find the file specified.\n", code: 1},
		{line: `ren s\m.txt s\x`, err: "The syntax of the command is incorrect.\n", code: 1},
	})
}

func TestDel(t *testing.T) {
	files := map[string]string{"a.txt": "a", "b.txt": "b", "c.log": "c", "s/a.txt": "x", "s/t/a.txt": "y", "d/1": "1", "d/2": "2"}
	play(t, files, []step{
		{line: `del a.txt`},
		{line: `del none`, err: "Could Not Find C:\\w\\none\n"},
		{line: `del /q *.log b.txt`},
		{line: `dir /b /a-d`, err: "File Not Found\n", code: 1},
		{line: `del /s a.txt`, out: "Deleted file - C:\\w\\s\\a.txt\nDeleted file - C:\\w\\s\\t\\a.txt\n"},
		{line: `del d`, input: "n", out: "C:\\w\\d\\*, Are you sure (Y/N)? "},
		{line: `del /q d`},
		{line: `dir /b /a-d d`, err: "File Not Found\n", code: 1},
		{line: `del no\such`, err: "The system cannot find the path specified.\n", code: 1},
		{line: `del`, err: "The syntax of the command is incorrect.\n", code: 1},
		{line: `erase /x y`, err: "Invalid switch - \"x\".\n", code: 1},
	})
}

func TestFolders(t *testing.T) {
	play(t, map[string]string{"f": "f", "full/x": "x"}, []step{
		{line: `md a\b\c`},
		{line: `mkdir a`, err: "A subdirectory or file a already exists.\n", code: 1},
		{line: `md f`, err: "A subdirectory or file f already exists.\n", code: 1},
		{line: `md "x y" z`},
		{line: `md n\*`, err: "The filename, directory name, or volume label syntax is incorrect.\n", code: 1},
		{line: `dir /b`, out: "a\nf\nfull\nn\nx y\nz\n"},
		{line: `md`, err: "The syntax of the command is incorrect.\n", code: 1},
		{line: `rd none`, err: "The system cannot find the file specified.\n", code: 2},
		{line: `rd f`, err: "The directory name is invalid.\n", code: 267},
		{line: `rd full`, err: "The directory is not empty.\n", code: 145},
		{line: `rd /s full`, input: "n", out: "full, Are you sure (Y/N)? "},
		{line: `rmdir /s/q full a "x y"`},
		{line: `dir /b`, out: "f\nn\nz\n"},
	})
}

func TestType(t *testing.T) {
	files := map[string]string{"a": "one\r\n", "b": "two", "wide": "\xff\xfeg\x00\xf6\x00\r\x00\n\x00", "short": "\xff"}
	play(t, files, []step{
		{line: `type a`, out: "one\n"},
		{line: `type a b`, out: "one\ntwo", err: "\na\n\n\n\nb\n\n\n"},
		{line: `type wide`, out: "gö\n"},
		{line: `type short`, out: "\xff"},
		{line: `type none`, err: "The system cannot find the file specified.\n", code: 1},
		{line: `type .`, err: "Access is denied.\n", code: 1},
		{line: `mklink l a`, out: "symbolic link created for l <<===>> a\n"},
		{line: `type l`, out: "one\n"},
		{line: `mklink l b`, err: "Cannot create a file when that file already exists.\n", code: 1},
		{line: `mklink /h h b`, out: "Hardlink created for h <<===>> b\n"},
		{line: `type h`, out: "two"},
		{line: `vol C:`, out: " Volume in drive C has no label.\n Volume Serial Number is 1234-5678\n"},
		{line: `vol Q:`, err: "The system cannot find the path specified.\n", code: 1},
		{line: `ver`, out: "\nMicrosoft Windows [Version 10.0.17763.1]\n"},
		{line: `assoc .none`, err: "File association not found for extension .none\n", code: 2},
		{line: `assoc .none=x`, err: "Access is denied.\n", code: 5},
	})
}
