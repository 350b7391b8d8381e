package judge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	table := []Known{
		{Test: "TestOld"}, {Test: "TestBad"}, {Test: "TestTree/branch"}, {
			Test: "TestGone",
			Skip: true,
		}, {Test: "TestSometimes", Flaky: true},
	}

	unknown, stale := Compare(table, map[string]string{
		"TestOld": "pass", "TestBad": "fail", "TestBad/part": "fail", "TestTree": "fail", "TestTree/branch": "fail",
		"TestTree/other": "fail",
		"TestNew":        "fail", "TestSometimes": "pass", "TestFine": "pass", "TestLater": "skip",
	})
	if diff := cmp.Diff([]string{"TestNew", "TestTree/other"}, unknown); diff != "" {
		t.Errorf("unknown failures (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]string{"TestOld"}, stale); diff != "" {
		t.Errorf("stale rows (-want +got):\n%s", diff)
	}
	if got := Skip(table); got != "^(TestGone)$" {
		t.Errorf("left out: %q", got)
	}
	if got := Skip(nil); got != "" {
		t.Errorf("left out of nothing: %q", got)
	}
}

// TestRead reads what test programs write that come to their end, that crash, and whose time is over: of the last two
// the tests behind have not run, whatever a test prints.
func TestRead(t *testing.T) {
	const first = "\x16=== RUN   TestOne\nPASS\n\x16--- PASS: TestOne (0.00s)\n"
	const second = "\x16=== RUN   TestTwo\nsaid\n"
	const failed = "\x16--- FAIL: TestTwo (0.00s)\n"
	for name, tt := range map[string]struct {
		output string
		ended  map[string]string
		whole  bool
	}{
		"passed":  {first + "\x16PASS\n", map[string]string{"TestOne": "pass"}, true},
		"failed":  {first + second + failed + "\x16FAIL\n", map[string]string{"TestOne": "pass", "TestTwo": "fail"}, true},
		"none":    {"testing: warning: no tests to run\n\x16PASS\n", map[string]string{}, true},
		"crashed": {first + second + failed + "panic: x\n", map[string]string{"TestOne": "pass", "TestTwo": "fail"}, false},
		"late": {
			first + second + "panic: test timed out after 1s\n",
			map[string]string{"TestOne": "pass", "TestTwo": "fail"},
			false,
		},
		"again": {"\x16PASS\n" + first, map[string]string{"TestOne": "pass"}, false},
		"empty": {"", map[string]string{}, false},
	} {
		run, err := Read(t.Context(), "p", strings.NewReader(tt.output))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.ended, run.Ended); diff != "" || run.Whole != tt.whole {
			t.Errorf("%s: whole %t\n%s", name, run.Whole, diff)
		}
	}
}

// TestKeep keeps results beside those of an earlier run, and reads them again.
func TestKeep(t *testing.T) {
	t.Setenv(ListVariable, "")
	if err := Keep(map[string]string{"a TestOne": "pass"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "list")
	t.Setenv(ListVariable, file)
	if got, err := Kept(); len(got) > 0 || err != nil {
		t.Errorf("kept without a file: %v, %v", got, err)
	}

	for _, ended := range []map[string]string{
		{"a TestOne": "fail", "a TestTwo/x": "pass"}, {"b TestOne": "skip", "a TestOne": "pass"},
	} {
		if err := Keep(ended); err != nil {
			t.Fatal(err)
		}
	}

	text, err := os.ReadFile(file)
	if want := "pass a TestOne\npass a TestTwo/x\nskip b TestOne\n"; string(text) != want || err != nil {
		t.Errorf("the file has %q, %v, want %q", text, err, want)
	}
	got, err := Kept()
	want := map[string]string{"a TestOne": "pass", "a TestTwo/x": "pass", "b TestOne": "skip"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("kept (-want +got), %v:\n%s", err, diff)
	}

	if err := os.WriteFile(file, []byte("# a line for people\nwell TestOne\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Kept(); err == nil || !strings.Contains(err.Error(), "well TestOne") {
		t.Errorf("kept of a file that is no list: %v, %v", got, err)
	}
	if err := Keep(map[string]string{"a TestOne": "pass"}); err == nil {
		t.Error("a file that is no list is written over")
	}
}
