package kept

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/conformance/result"
)

func sample() Result {
	return Result{
		Version: 1,
		Suite:   "wine",
		Commit:  "0123abcd",
		Began:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Seconds: 12.5,
		Machine: Machine{System: "Debian", Cores: 2},
		Load:    Load{Before: 1, Most: 2},
		Args:    []string{"wine"},
		Tests: []Test{
			{Name: "a TestA", State: result.Passed, Attempts: 1},
			{Name: "a TestB", State: result.Failed, Attempts: 1, Reason: "x.go:1: \"no\"\nand more"},
		},
	}
}

func TestWriteAndRead(t *testing.T) {
	folder := t.TempDir()
	path, err := Write(folder, sample())
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(folder, "wine", "20260102T030405Z-0123abcd.json"); path != want {
		t.Errorf("written to %s, not %s", path, want)
	}

	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("what was read (-written +read):\n%s", diff)
	}

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n    {\"name\":"); n != 2 {
		t.Errorf("%d tests have a line of their own:\n%s", n, text)
	}
}

func TestNoTests(t *testing.T) {
	r := sample()
	r.Tests = nil
	path, err := Write(t.TempDir(), r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err != nil {
		t.Error(err)
	}
}

// TestReadRefuses is about files that are no results, or not those that their names say.
func TestReadRefuses(t *testing.T) {
	folder := t.TempDir()
	path, err := Write(folder, sample())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	good := string(text)

	for name, bad := range map[string]string{
		"another suite":   strings.Replace(good, `"suite": "wine"`, `"suite": "pure"`, 1),
		"another commit":  strings.Replace(good, "0123abcd", "ffffffff", 1),
		"another version": strings.Replace(good, `"version": 1`, `"version": 2`, 1),
		"a field more":    strings.Replace(good, `"args"`, `"hand": "typed", "args"`, 1),
		"half":            good[:len(good)/2],
		"nothing":         "",
	} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestLongReasonIsCut(t *testing.T) {
	r := sample()
	r.Tests[1].Reason = strings.Repeat("ä", maxReason)
	path, err := Write(t.TempDir(), r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.Tests[1].Reason); n > maxReason+len("…") {
		t.Errorf("a reason has %d bytes", n)
	}
}

func TestFilesAreTheNewestFirst(t *testing.T) {
	folder := t.TempDir()
	for hour := range 3 {
		r := sample()
		r.Began = r.Began.Add(time.Duration(hour) * time.Hour)
		if _, err := Write(folder, r); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(filepath.Join(folder, "wine", "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	files, err := Files(folder, "wine")
	if err != nil || len(files) != 3 || !strings.Contains(files[0], "T050405Z") {
		t.Errorf("got %q, %v", files, err)
	}
	if files, err := Files(folder, "pure"); err != nil || len(files) != 0 {
		t.Errorf("a suite that never ran has %q, %v", files, err)
	}

	if suites, err := Suites(folder); err != nil || len(suites) != 1 {
		t.Errorf("got the suites %q, %v", suites, err)
	}
}

func TestCompare(t *testing.T) {
	before, after := sample(), sample()
	after.Tests = []Test{
		{Name: "a TestA", State: result.Failed},
		{Name: "a TestC", State: result.Passed},
	}

	want := []Difference{
		{"a TestA", result.Passed, result.Failed},
		{"a TestB", result.Failed, ""},
		{"a TestC", "", result.Passed},
	}
	if diff := cmp.Diff(want, Compare(before, after)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}

	if got := Compare(before, before); len(got) > 0 {
		t.Errorf("a run differs from itself: %v", got)
	}
}

// TestThisMachine holds that what each Linux machine tells is told.
func TestThisMachine(t *testing.T) {
	m := ThisMachine(t.Context())
	if m.Kernel == "" || m.Cores < 1 || m.MemoryGiB <= 0 || (m.Cgroup != "v1" && m.Cgroup != "v2") {
		t.Errorf("got %+v", m)
	}
}

func TestWatchLoad(t *testing.T) {
	if l := WatchLoad()(); l.Before < 0 || l.Most < l.Before {
		t.Errorf("got %+v", l)
	}
}

func TestCommit(t *testing.T) {
	if commit, _ := Commit(t.Context(), t.TempDir()); commit != "" {
		t.Errorf("a folder without a repository has commit %q", commit)
	}
}
