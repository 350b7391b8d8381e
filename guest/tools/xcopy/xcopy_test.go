package xcopy

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

// tree lists the files below a folder with their text, and the folders.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == dir {
			return nil
		}

		text, _ := os.ReadFile(path) // a folder has none
		if e.IsDir() {
			text = []byte("/")
		}
		name, _ := filepath.Rel(dir, path)
		all = append(all, filepath.ToSlash(name)+"="+string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func TestXcopy(t *testing.T) {
	const whole = "a.txt=A b.log=B empty=/ sub=/ sub/c.txt=C"
	for name, tt := range map[string]struct {
		args, input, preset string
		code                int
		// says is in the output or the complaints; to is what dst has then.
		says, to string
	}{
		"a folder's files":            {args: "src dst /I", says: "2 File(s) copied", to: "a.txt=A b.log=B"},
		"with those below":            {args: "src dst /S /I", says: "sub/c.txt", to: "a.txt=A b.log=B sub=/ sub/c.txt=C"},
		"with empty ones":             {args: "src dst /e/i/q", says: "3 File(s) copied", to: whole},
		"into a folder that is there": {args: "/e src/* old", says: "4 File(s) copied"},
		"with a slash":                {args: "src/*.txt dst/", says: "1 File(s) copied", to: "a.txt=A"},
		"folders alone":               {args: "src dst /T /E /I", says: "0 File(s) copied", to: "empty=/ sub=/"},
		"what is there alone":         {args: "src dst /L /S /I", says: "3 File(s)", to: ""},
		"both names":                  {args: "src/a.txt dst/ /F", says: "/src/a.txt -> /", to: "a.txt=A"},
		"excluded":                    {args: "src dst /S /I /EXCLUDE:list", says: "1 File(s) copied", to: "b.log=B"},
		"options behind a path":       {args: "src dst/S/I/EXCLUDE:list", says: "1 File(s) copied", to: "b.log=B"},
		"an option behind a path":     {args: "src/a.txt old/y", says: "1 File(s) copied"},
		"into a folder by stars":      {args: "src/*.* dst/*.* /E", says: "3 File(s) copied", to: whole},
		"a file by stars":             {args: "src/a.txt old/*", input: "y\n", says: "Overwrite old/a.txt"},
		"nothing, by stars":           {args: "src/empty/*.* dst /I", says: "0 File(s) copied"},
		"each after a question":       {args: "src dst /I /P", input: "n\ny\n", says: "src/b.log (Y/N)?", to: "b.log=B"},
		"after Enter":                 {args: "src dst /I /W", input: "\n", says: "2 File(s) copied", to: "a.txt=A b.log=B"},
		"no Enter":                    {args: "src dst /I /W", code: 2, says: "0 File(s) copied"},
		"answered with D":             {args: "src/a.txt dst", input: "d\n", says: "(F = file, D = dir", to: "a.txt=A"},
		"answered with F":             {args: "src/a.txt dst/new", input: "x\nF\n", says: "1 File(s) copied", to: "new=A"},
		"a file by a star":            {args: "src/a.txt dst/new*", says: "1 File(s) copied", to: "new=A"},
		"no answer":                   {args: "src/a.txt dst", code: 2, says: "0 File(s) copied"},
		"no such folder":              {args: "none/* dst /Y", code: 4, says: "File not found - *"},
		"no such file":                {args: "src/z* dst/", code: 4, says: "File not found - z*"},
		"with owners":                 {args: "src dst /I /O /X", says: "owners and access lists are not copied here", to: "a.txt=A b.log=B"},
		"no such option":              {args: "src dst /B", code: 4, says: "Invalid switch - /B"},
		"nothing":                     {args: "", code: 4, says: "Invalid number of parameters"},
		"no such list":                {args: "src dst /EXCLUDE:none", code: 4, says: "Can't read file: none"},
		"a list without a name":       {args: "src dst /EXCLUDE", code: 4, says: "Can't read file: "},
		"into itself":                 {args: "src src/sub/more/ /S", code: 4, says: "Cannot perform a cyclic copy"},
		"over a file, not answered":   {args: "src/a.txt old", code: 2, says: "Overwrite old/a.txt (Yes/No/All)?"},
		"over a file, no":             {args: "src/a.txt old", input: "n\n", says: "0 File(s) copied"},
		"over files, all":             {args: "src old", input: "a\n", says: "2 File(s) copied"},
		"over a file":                 {args: "src/a.txt old /Y", says: "1 File(s) copied"},
		"over a file, by COPYCMD":     {args: "src/a.txt old", preset: "/Y", says: "1 File(s) copied"},
		"a file onto itself":          {args: "src/a.txt src /Y", code: 4, says: "File cannot be copied onto itself"},
		"files onto themselves":       {args: "src src/. /Y", code: 4, says: "0 File(s) copied"},
		"newer ones alone":            {args: "src old /D", says: "0 File(s) copied"},
		"since a day":                 {args: "src dst /I /D:1-1-2001", says: "2 File(s) copied", to: "a.txt=A b.log=B"},
		"those that are there":        {args: "src old /U /Y", says: "2 File(s) copied"},
		"help":                        {args: "/?", says: "XCOPY source"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			programtest.Write(t, dir, map[string]string{
				"src/a.txt": "A", "src/b.log": "B", "src/sub/c.txt": "C", "list": "/sub/\na.TXT\n",
				"old/a.txt": "old", "old/b.log": "old",
			})
			if err := os.Mkdir("src/empty", 0o777); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, "into a folder") { // as an init container has it, with a new volume
				if err := os.RemoveAll("old"); err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir("old", 0o777); err != nil {
					t.Fatal(err)
				}
				tt.says = "3 File(s) copied"
			}

			got := programtest.Run(tt.input, func(e program.Env) int {
				e.Getenv = func(string) string { return tt.preset }
				return Run(e, strings.Fields(tt.args))
			})
			if got.Code != tt.code || !strings.Contains(got.Out+got.Err, tt.says) {
				t.Errorf("%+v, want %d and %q", got, tt.code, tt.says)
			}
			if text, err := os.ReadFile("src/a.txt"); err != nil || string(text) != "A" {
				t.Errorf("the source has %q, %v", text, err)
			}
			if tt.to != "" {
				if diff := cmp.Diff(tt.to, tree(t, "dst")); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// A file keeps its time, and may be read alone only with /K; over one that may be read alone only /R copies.
func TestXcopyOfReadOnly(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	programtest.Write(t, dir, map[string]string{"src/a.txt": "A"})
	if err := os.Chmod("src/a.txt", 0o444); err != nil {
		t.Fatal(err)
	}
	was, err := os.Stat("src/a.txt")
	if err != nil {
		t.Fatal(err)
	}

	for _, step := range []struct {
		args     string
		readOnly bool
		code     int
	}{
		{"src dst /I", false, 0},
		{"src dst /Y /K", true, 0},
		{"src dst /Y", true, 4},
		{"src dst /Y /C", true, 0},
		{"src dst /Y /R", false, 0},
	} {
		if got := programtest.Run("", func(e program.Env) int {
			e.Getenv = func(string) string { return "" }
			return Run(e, strings.Fields(step.args))
		}); got.Code != step.code {
			t.Fatalf("%s: %+v", step.args, got)
		}

		is, err := os.Stat("dst/a.txt")
		if err != nil {
			t.Fatal(err)
		}
		if !is.ModTime().Equal(was.ModTime()) || (is.Mode()&0o200 == 0) != step.readOnly {
			t.Errorf("%s: it is of %v, with %v", step.args, is.ModTime(), is.Mode())
		}
	}
}

// A link is copied as what it leads to, as in the volume of a ConfigMap; one that leads back to a folder above it ends
// xcopy, and one that leads nowhere is left out.
func TestXcopyOfLinks(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	programtest.Write(t, dir, map[string]string{"src/..2024/key": "K"})
	for name, to := range map[string]string{"src/..data": "..2024", "src/key": "..data/key", "src/nowhere": "none"} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	xcopy := func(args string) programtest.Result {
		return programtest.Run("", func(e program.Env) int {
			e.Getenv = func(string) string { return "" }
			return Run(e, strings.Fields(args))
		})
	}

	if got := xcopy("src dst /E /I"); got.Code != 0 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff("..2024=/ ..2024/key=K ..data=/ ..data/key=K key=K", tree(t, "dst")); diff != "" {
		t.Error(diff)
	}

	if err := os.Symlink("..", "src/..2024/again"); err != nil {
		t.Fatal(err)
	}
	if got := xcopy("src other /E /I"); got.Code != 4 || !strings.Contains(got.Err, "cyclic") {
		t.Errorf("%+v", got)
	}
}
