package powershell

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite what the scripts in testdata print")

// scripts returns the scripts of a folder of testdata, by their names.
func scripts(tb testing.TB, folder string) map[string]string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.ps1"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("find the scripts: %v, %v", files, err)
	}
	found := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		found[strings.TrimSuffix(filepath.Base(f), ".ps1")] = string(data)
	}
	return found
}

// play runs a script and returns its output, exit code and errors, in the form of a golden file.
func play(t *testing.T, script string) (string, outcome) {
	t.Helper()

	// its name is so long that errors leave out its middle, whatever numbers are in it
	dir := filepath.Join(t.TempDir(), "the-folder-of-the-script")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	var out, errs bytes.Buffer
	s := Session{
		Args:    []string{"-NoProfile", "-Command", script},
		Environ: []string{"PATH=/usr/bin:/bin", "COMPUTERNAME=HOST-1", "HOME=/home/me"},
		Stdin:   strings.NewReader(""),
		Stdout:  &out,
		Stderr:  &errs,
		Self:    self,
		Newline: "\n",
		windows: stageWindows(),
	}

	got := outcome{code: s.Run(t.Context())}

	pid := regexp.MustCompile(fmt.Sprintf(`\b%d\b`, os.Getpid()))
	cut := regexp.MustCompile(`\(\S{15}\.\.\.\S{15}:String\)`) // the middle of a path, which is left out, has the folder's name
	changing := func(text string) string {
		text = cut.ReplaceAllString(text, "(DIR...:String)")
		return pid.ReplaceAllString(strings.ReplaceAll(text, dir, "DIR"), "PID")
	}

	// with the blanks before it: it ends a column, and is as wide as day and hour are
	at := regexp.MustCompile(` *\d+/\d+/\d{4} +\d+:\d\d [AP]M`)
	got.out = at.ReplaceAllString(changing(out.String()), "TIME")
	got.errs = changing(errs.String())
	return fmt.Sprintf("%s-- exit %d --\n%s", got.out, got.code, got.errs), got
}

// compareGolden compares a script's result with the golden file beside it.
func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-%s +what it gives:\n%s", file, diff)
	}
}

// golden returns the file beside a script.
func golden(t *testing.T, folder, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", folder, name+".out"))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestScripts runs scripts that use what is implemented.
func TestScripts(t *testing.T) {
	for name, script := range scripts(t, "run") {
		t.Run(name, func(t *testing.T) {
			file := golden(t, "run", name)
			got, _ := play(t, script)
			compareGolden(t, file, got)
		})
	}
}

// TestRefusals checks that a text which is not PowerShell is refused before any of it runs, with its place and in the
// form of about_Parsing and about_Error_Records.
func TestRefusals(t *testing.T) {
	for name, script := range scripts(t, "refused") {
		t.Run(name, func(t *testing.T) {
			file := golden(t, "refused", name)
			text, got := play(t, "Set-Content ran yes; echo ran; "+script)
			compareGolden(t, file, text)
			if got.code != ExitRefused || got.out != "" || !strings.Contains(got.errs,
				"ParserError: (:) [], ParentContains") {
				t.Errorf("no refusal: %+v", got)
			}
			if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
				t.Errorf("a part of it was run: %v, %v", left, err)
			}
		})
	}
}

// TestLate checks that what is not there is an error of its statement, and that the script goes on with the next one
// (about_Try_Catch_Finally, about_CommonParameters).
func TestLate(t *testing.T) {
	for name, script := range scripts(t, "late") {
		t.Run(name, func(t *testing.T) {
			file := golden(t, "late", name)
			text, got := play(t, "echo before; "+script+"\necho after")
			compareGolden(t, file, text)
			if got.code != 0 || !strings.HasPrefix(got.out, "before\n") || !strings.HasSuffix(got.out, "after\n") {
				t.Errorf("it ended there: %+v", got)
			}
			if got.errs == "" {
				t.Errorf("it printed no error: %+v", got)
			}
		})
	}
}

// TestEnds checks that an error which ends a script ends it there, with exit code 1.
func TestEnds(t *testing.T) {
	for name, script := range scripts(t, "ended") {
		t.Run(name, func(t *testing.T) {
			file := golden(t, "ended", name)
			text, got := play(t, "echo before; "+script+"\necho after")
			compareGolden(t, file, text)
			refused := strings.Contains(got.errs, "Nothing was run")
			if got.code != 1 || strings.Contains(got.out, "after") || got.errs == "" || refused {
				t.Errorf("it did not end there: %+v", got)
			}
		})
	}
}
