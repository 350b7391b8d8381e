package robocopy

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the report in testdata")

// lay writes files by their names, all with one time.
func lay(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(name, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		if err := os.Chtimes(name, when, when); err != nil {
			t.Fatal(err)
		}
	}
}

// what is below a folder: files with their text, folders with "/".
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), dir+"/")
		if e.IsDir() {
			found[name+"/"] = ""
			return nil
		}

		text, err := os.ReadFile(path)
		found[name] = string(text)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}

	return found
}

// run copies in a fresh folder with a tree a, and returns the exit code and the report.
func run(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := Run(Streams{Out: &out, Err: &out}, args)
	return code, strings.ReplaceAll(out.String(), "\r\n", "\n")
}

func source(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	lay(t, map[string]string{"a/1.txt": "one", "a/2.log": "two", "a/sub/3.txt": "three", "a/none/": ""})
}

func TestCopies(t *testing.T) {
	for _, tc := range []struct {
		name  string
		there map[string]string
		args  []string
		code  int
		want  map[string]string
	}{
		{"flat", nil, nil, 1, map[string]string{"1.txt": "one", "2.log": "two"}},
		{"below", nil, []string{"/S"}, 1, map[string]string{"1.txt": "one", "2.log": "two", "sub/": "", "sub/3.txt": "three"}},
		{"all", nil, []string{"/e"}, 1, map[string]string{"1.txt": "one", "2.log": "two", "sub/": "", "sub/3.txt": "three", "none/": ""}},
		{"pattern", nil, []string{"*.txt", "/S"}, 1, map[string]string{"1.txt": "one", "sub/": "", "sub/3.txt": "three"}},
		{"excluded", nil, []string{"/S", "/XF", "*.log", "3.TXT", "/XD", "none"}, 1, map[string]string{"1.txt": "one"}},
		{"excluded_folder", nil, []string{"/E", "/XD", "a/sub", "/XF", "2*"}, 1, map[string]string{"1.txt": "one", "none/": ""}},
		{"levels", nil, []string{"/S", "/LEV:1"}, 1, map[string]string{"1.txt": "one", "2.log": "two"}},
		{"same", map[string]string{"b/1.txt": "one", "b/2.log": "two"}, nil, 0, map[string]string{"1.txt": "one", "2.log": "two"}},
		{"changed", map[string]string{"b/1.txt": "another", "b/2.log": "two"}, nil, 1, map[string]string{"1.txt": "one", "2.log": "two"}},
		{"not_changed", map[string]string{"b/1.txt": "another", "b/2.log": "two"}, []string{"/XC"}, 0, map[string]string{"1.txt": "another", "2.log": "two"}},
		{"extra", map[string]string{"b/x": "x"}, nil, 3, map[string]string{"1.txt": "one", "2.log": "two", "x": "x"}},
		{"purge", map[string]string{"b/x": "x", "b/old/y": "y"}, []string{"/MIR"}, 3, map[string]string{
			"1.txt": "one", "2.log": "two", "sub/": "", "sub/3.txt": "three", "none/": "",
		}},
		{"kept", map[string]string{"b/x": "x", "b/old/y": "y"}, []string{"/MIR", "/XF", "x", "/XD", "old"}, 1, map[string]string{
			"1.txt": "one", "2.log": "two", "sub/": "", "sub/3.txt": "three", "none/": "", "x": "x", "old/": "", "old/y": "y",
		}},
		{"dry", map[string]string{"b/x": "x"}, []string{"/MIR", "/L"}, 3, map[string]string{"x": "x"}},
		{"mismatch", map[string]string{"b/1.txt/": ""}, nil, 5, map[string]string{"1.txt/": "", "2.log": "two"}},
		{"not_lonely", map[string]string{"b/1.txt": "another"}, []string{"/XL"}, 1, map[string]string{"1.txt": "one"}},
		{"accepted", nil, []string{"/MT:8", "/NP", "/Z", "/R:0", "/W:0", "/COPY:DAT", "/DCOPY:T", "/XJ"}, 1, map[string]string{"1.txt": "one", "2.log": "two"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source(t)
			lay(t, tc.there)
			code, report := run(t, append([]string{"a", "b"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, tree(t, "b")); diff != "" || code != tc.code {
				t.Errorf("exit %d, want %d, (-want +got):\n%s\n%s", code, tc.code, diff, report)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	source(t)
	if code, report := run(t, "a", "b"); code != 1 {
		t.Fatalf("%d\n%s", code, report)
	}
	old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes("b/1.txt", old, old); err != nil {
		t.Fatal(err)
	}

	if code, _ := run(t, "a", "b", "/XN"); code != 0 {
		t.Errorf("/XN: %d", code)
	}
	if code, report := run(t, "a", "b"); code != 1 || !strings.Contains(report, "Newer     \t\t") {
		t.Errorf("%d\n%s", code, report)
	}

	info, err := os.Stat("b/1.txt")
	if err != nil || info.ModTime().Year() != 2026 {
		t.Errorf("%v, %v", info, err)
	}
	later := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes("b/1.txt", later, later); err != nil {
		t.Fatal(err)
	}

	if code, _ := run(t, "a", "b", "/XO"); code != 0 {
		t.Errorf("/XO: %d", code)
	}
	if code, _ := run(t, "a", "b", "/IS"); code != 1 {
		t.Errorf("/IS: %d", code)
	}
}

func TestMove(t *testing.T) {
	source(t)
	if code, report := run(t, "a", "b", "/MOV"); code != 1 {
		t.Errorf("%d\n%s", code, report)
	}
	if diff := cmp.Diff(map[string]string{"sub/": "", "sub/3.txt": "three", "none/": ""}, tree(t, "a")); diff != "" {
		t.Error(diff)
	}
	if code, report := run(t, "a", "b", "/E", "/MOVE", "/XX"); code != 1 {
		t.Errorf("%d\n%s", code, report)
	}
	if _, err := os.Stat("a"); !os.IsNotExist(err) {
		t.Errorf("a is still there: %v", tree(t, "a"))
	}
}

// TestReport compares a report with the layout of Windows' program; times and speed are taken out.
func TestReport(t *testing.T) {
	golden, err := filepath.Abs("testdata/report.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}

	source(t)
	lay(t, map[string]string{"b/2.log": "two", "b/x": "x"})
	_, report := run(t, "a", "b", "/E", "/R:1", "/W:1")
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}

	report = strings.ReplaceAll(report, dir, "")
	report = regexp.MustCompile(`(?m)(Started|Ended) : .*$|Speed : .*$`).ReplaceAllString(report, "")
	report = regexp.MustCompile(`\d:\d\d:\d\d`).ReplaceAllString(report, "0:00:00")
	if *update {
		if err := os.WriteFile(golden, []byte(report), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}

	trim := regexp.MustCompile(`(?m)[ \t]+$`)
	if diff := cmp.Diff(trim.ReplaceAllString(string(want), ""), trim.ReplaceAllString(report, "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, quiet := run(t, "a", "c", "/NJH", "/NJS", "/NFL", "/NDL"); quiet != "" {
		t.Errorf("%q", quiet)
	}

	if _, short := run(t, "a", "d", "/NJH", "/NJS", "/NDL", "/NS", "/NC", "1.txt"); strings.TrimSpace(short) != "1.txt" {
		t.Errorf("%q", short)
	}
	if code, out := run(t, "a", "e", "/LOG:log.txt", "/NJS"); code != 1 || out != "" {
		t.Errorf("%d %q", code, out)
	}
	if text, err := os.ReadFile("log.txt"); err != nil || !strings.Contains(string(text), "ROBOCOPY") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestRefusals(t *testing.T) {
	source(t)
	for line, want := range map[string]string{
		"a b /SEC":         `ERROR : Invalid Parameter #3 : "/SEC"`,
		"a b /COPY:DATS":   `Invalid Parameter #3 : "/COPY:DATS"`,
		"a b /R:x":         `Invalid Parameter #3 : "/R:x"`,
		"a":                "No Destination Directory Specified.",
		"":                 "No Source Directory Specified.",
		"none b":           "ERROR 2 (0x00000002) Accessing Source Directory",
		"a b /LOG:none/x":  "Unable to open log file",
		"a b /LOG:":        "Invalid Parameter",
		"a/1.txt b":        "Accessing Source Directory",
		"a b /?":           "Usage :: ROBOCOPY",
		"a b /UNKNOWN:odd": "Invalid Parameter",
	} {
		if code, report := run(t, strings.Fields(line)...); code != 16 || !strings.Contains(report, want) {
			t.Errorf("%s: %d\n%s", line, code, report)
		}
	}
}

// TestRetries has a file that cannot be written: its name is a folder's link that leads nowhere.
func TestRetries(t *testing.T) {
	source(t)
	if err := os.MkdirAll("b", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere/at/all", "b/1.txt"); err != nil {
		t.Fatal(err)
	}

	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		code, report := run(t, "a", "b", "/R:2", "/W:7")
		if code != failed|copied || strings.Count(report, "Waiting 7 seconds... Retrying...") != 2 ||
			!strings.Contains(report, "RETRY LIMIT EXCEEDED") || time.Since(begin) != 14*time.Second {
			t.Errorf("%d after %s\n%s", code, time.Since(begin), report)
		}
	})
}
