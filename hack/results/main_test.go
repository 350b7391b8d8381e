package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/hack/kept"
	"mullion.dev/mullion/internal/conformance/result"
)

func write(t *testing.T, folder string, state result.State, began time.Time) string {
	t.Helper()
	path, err := kept.Write(folder, kept.Result{
		Suite:  "pure",
		Commit: "0123abcd",
		Began:  began,
		Tests:  []kept.Test{{Name: "a TestA", State: state, Attempts: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKeepAndCompare(t *testing.T) {
	t.Chdir(t.TempDir())
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a := write(t, kept.Fresh, result.Passed, began)
	b := write(t, kept.Fresh, result.Failed, began.Add(time.Hour))

	var out strings.Builder
	if err := run(t.Context(), []string{"keep", "pure"}, &out); err != nil {
		t.Fatal(err)
	}
	newest := filepath.Join(kept.Folder, "pure", filepath.Base(b))
	if got := strings.TrimSpace(out.String()); got != newest {
		t.Errorf("kept %q, not %q", got, newest)
	}

	out.Reset()
	if err := run(t.Context(), []string{"compare", a, newest}, &out); !errors.Is(err, errWorse) ||
		!strings.Contains(out.String(), "passed  → failed  a TestA\n") {
		t.Errorf("%v:\n%s", err, out.String())
	}
	if err := run(t.Context(), []string{"compare", newest, a}, &out); err != nil {
		t.Errorf("what is better is worse: %v", err)
	}

	out.Reset()
	if err := run(t.Context(), []string{"list"}, &out); err != nil || !strings.Contains(out.String(), newest) {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// TestKeepConformance keeps a run of Kubernetes' own tests, of the commit that its program names.
func TestKeepConformance(t *testing.T) {
	t.Chdir(t.TempDir())
	folder, err := result.Create("conformance-results", result.Run{
		ID:      "20260102T030405Z",
		Suite:   "serial",
		Test:    "v1.37.1",
		Mullion: "v0.1.0-dev+0123abcd",
		Start:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Planned: []string{"[sig-node] a", "[sig-node] b"},
		End:     result.Partial,
		Reason:  "stopped",
	})
	if err != nil {
		t.Fatal(err)
	}

	flaky := result.Spec{
		Number:   1,
		Name:     "[sig-node] a",
		State:    result.Flaky,
		Attempts: 2,
	}
	if err := folder.Add(flaky, "", ""); err != nil {
		t.Fatal(err)
	}

	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}

	var out strings.Builder
	if err := run(t.Context(), []string{"keep", folder.Path}, &out); err != nil {
		t.Fatal(err)
	}
	r, err := kept.Read(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}

	if r.Suite != "serial-1.37.1" || r.Commit != "0123abcd" || r.Incomplete != "partial stopped" || len(r.Tests) != 2 ||
		r.Tests[0].State != result.Flaky || r.Tests[1].State != result.NotRun {
		t.Errorf("kept %+v", r)
	}
}

func TestCommitOf(t *testing.T) {
	for version, want := range map[string]string{
		"v0.1.0-dev+e56d8f35":      "e56d8f35",
		"v0.1.0-12-ge56d8f35abcd":  "e56d8f35",
		"e56d8f35":                 "e56d8f35",
		"v0.1.0":                   "",
		"devel":                    "",
		"v0.1.0-dev+unknown":       "",
		"v0.1.0-3-ge56d8f35-dirty": "e56d8f35 changed",
	} {
		got, changed := commitOf(version)
		if changed {
			got += " changed"
		}
		if got != want {
			t.Errorf("%s names commit %q, not %q", version, got, want)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{nil, {"keep"}, {"compare", "a"}, {"sort"}, {"keep", "never"}, {"compare", "a", "b"}} {
		if err := run(t.Context(), args, os.Stdout); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

func TestPublic(t *testing.T) {
	got := public("/src/mullion/bin/x: no\n    PATH=/src/mullion/bin:/home/me/bin\n    HOME=/none", "/src/mullion")
	if want := "CHECKOUT/bin/x: no\n    PATH=…\n    HOME=/none"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
