package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestLanes holds that each package of rung wine is in one lane, and that the names of the lanes are those of packages.
func TestLanes(t *testing.T) {
	t.Chdir("../..")
	packages, err := packagesOf("wine", nil)
	if err != nil {
		t.Fatal(err)
	}

	lanes := lanesOf("wine", packages)
	if len(lanes) != 2 || len(lanes[1]) != 4 {
		t.Errorf("the lanes are %q: a package is gone or has another name", lanes)
	}
	all := slices.Sorted(slices.Values(slices.Concat(lanes...)))
	if !slices.Equal(all, packages) {
		t.Errorf("lanes have %q, the rung %q", all, packages)
	}

	if got := lanesOf("kernel", packages); len(got) != 1 || !slices.Equal(got[0], packages) {
		t.Errorf("another rung has lanes %q", got)
	}
}

// TestGoTestOfLanes holds that what fails in any lane fails the rung, and that all are heard.
func TestGoTestOfLanes(t *testing.T) {
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{
		"go.mod":      "module m\n",
		"a/a_test.go": "package a\nimport \"testing\"\nfunc TestA(t *testing.T) {}\n",
		"b/b_test.go": "package b\nimport \"testing\"\nfunc TestB(t *testing.T) { t.Error(\"no\") }\n",
		"c/c_test.go": "package c\nimport \"testing\"\nfunc TestC(t *testing.T) { t.Skip(\"why\") }\n",
	} {
		if folder, _, ok := strings.Cut(file, "/"); ok {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	r := newResult("wine")
	err := r.goTest(t.Context(), []string{"test", "-json", "-vet=off"}, [][]string{{"./a", "./c"}, {"./b"}}, io.Discard)
	if err == nil {
		t.Error("the failure of a lane is lost")
	}
	if r.passed != 1 || r.failed != 1 || r.skipped != 1 || len(r.running) > 0 {
		t.Errorf("%d passed, %d failed, %d skipped, running: %v; want one of each", r.passed, r.failed, r.skipped, r.running)
	}
}
