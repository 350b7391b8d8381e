package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/hack/kept"
	state "mullion.dev/mullion/internal/conformance/result"
)

// TestSecondTry runs rung pure on a module of its own.
func TestSecondTry(t *testing.T) {
	const once = `func TestOnce(t *testing.T) {
	if !again { t.Run("sub", func(t *testing.T) { t.Error("the first time") }) }
}
`

	for _, tc := range []struct {
		name, tests string
		ok          bool
		want        string
	}{
		{"by chance", once, true, "FLAKY, passed at the second try: FAILED pure: m TestOnce/sub\n    m_test.go:12: the first time"},
		{"always", once + `func TestAlways(t *testing.T) { t.Error("each time") }`, false, "TestAlways failed at its second try too"},
		{
			"a part of a test that says so", strings.Replace(once, "{\n", "{\n\tt.Log(\"no second try: it counts\")\n", 1), false,
			"no second try of TestOnce/sub: it counts",
		},
		{
			"a part that says so", strings.Replace(once, `t.Error("the`, `t.Log("no second try: it counts"); t.Error("the`, 1), false,
			"no second try of TestOnce/sub: it counts",
		},
		{
			"beside one that says so",
			once + `func TestSpoof(t *testing.T) { t.Log("no second try: it counts"); if !again { t.Error("got through") } }`, false,
			"no second try of TestSpoof: it counts",
		},
		{
			"two by chance", once + strings.ReplaceAll(once, "TestOnce", "TestTwice"), false,
			"2 tests passed at their second try only; a run with more than 1 of them fails",
		},
		{
			"a random test", `func TestRandom(t *testing.T) {
	t.Log("random seed: 4711")
	if os.Getenv("MULLION_TEST_SEED") != "4711" { t.Error("another seed") }
}`, true, "FLAKY, passed at the second try: FAILED pure: m TestRandom",
		},
		{
			"a test with a random part", `func TestParts(t *testing.T) {
	t.Run("random", func(t *testing.T) {
		t.Log("random seed: 4711")
		if os.Getenv("MULLION_TEST_SEED") != "4711" { t.Error("another seed") }
	})
}`, true, "FLAKY, passed at the second try: FAILED pure: m TestParts/random",
		},
		{"the count", once, true, "pure: 2 passed, 1 of them not before their second try, 0 failed, 0 skipped"},
		{"panic", `func TestPanic(t *testing.T) { if !again { panic("boom") } }`, false, "panic: boom"},
		{"build", `func TestX(t *testing.T) { undefined() }`, false, "undefined: undefined"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			source := `package m

import (
	"os"
	"testing"
)

// again says that the tests were run before.
var again = func() bool { _, err := os.Stat("flag"); os.WriteFile("flag", nil, 0o600); return err == nil }()

` + tc.tests

			for name, text := range map[string]string{"go.mod": "module m\n", "m_test.go": source} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			var out strings.Builder
			if ok := runAll(t.Context(), []string{"pure"}, time.Time{}, &out); ok != tc.ok {
				t.Errorf("passed is %v, not %v:\n%s", ok, tc.ok, out.String())
			}
			if !strings.Contains(out.String(), tc.want) {
				t.Errorf("no %q in:\n%s", tc.want, out.String())
			}
			checkKept(t, tc.ok || strings.Contains(tc.name, "two"))
		})
	}
}

// checkKept holds that the rung's result is written, and says what became of the failed tests.
func checkKept(t *testing.T, ok bool) {
	t.Helper()
	files, err := kept.Files(kept.Fresh, "pure")
	if err != nil || len(files) != 1 {
		t.Fatalf("results %q, %v", files, err)
	}
	r, err := kept.Read(files[0])
	if err != nil {
		t.Fatal(err)
	}

	n := r.Count()
	switch {
	case ok && (n[state.Failed] > 0 || n[state.Flaky] == 0 || r.Incomplete != ""):
		t.Errorf("the result of a rung that passed at its second try is %+v", r)
	case !ok && n[state.Failed] == 0 && r.Incomplete == "":
		t.Errorf("the result of a rung that failed says nothing of it: %+v", r)
	}
}

// TestToTry is about which of the failed tests run once more.
func TestToTry(t *testing.T) {
	long := 10 * time.Minute
	for _, tc := range []struct {
		name     string
		failures []failure
		want     []string
	}{
		{"a part and its whole", []failure{
			{test: "TestA/x", reasons: []string{"no"}},
			{test: "TestA"},
		}, []string{"TestA"}},
		{"a part of a long one", []failure{
			{test: "TestA/scripts/x.y", reasons: []string{"no"}},
			{test: "TestA/scripts", took: long},
			{test: "TestA", took: long},
		}, []string{"TestA/scripts/x.y"}},
		{"a long one by itself", []failure{
			{test: "TestA/x", reasons: []string{"no"}}, {test: "TestA", took: long, reasons: []string{"left behind"}},
		}, nil},
		{"a panic", []failure{{test: "TestA/x", panicked: true}, {test: "TestA", took: long}}, nil},
		{"a package", []failure{{reasons: []string{"build failed"}}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, f := range toTry(tc.failures) {
				got = append(got, f.test)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("tries %q, not %q", got, tc.want)
			}
		})
	}

	if got, want := pattern("TestA/scripts/x.y"), `^TestA$/^scripts$/^x\.y$`; got != want {
		t.Errorf("pattern is %q, not %q", got, want)
	}
}
