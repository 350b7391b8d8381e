package shown_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/hack/kept"
	"mullion.dev/mullion/hack/shown"
	"mullion.dev/mullion/internal/conformance/result"
	"mullion.dev/mullion/test/documents"
)

func test(name string, state result.State, seconds float64) kept.Test {
	return kept.Test{
		Name:     name,
		State:    state,
		Attempts: 1,
		Seconds:  seconds,
	}
}

// tree is a repository with results: two runs of a rung, a third of a tree with changes, and one of another rung.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	began := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	for i, r := range []kept.Result{
		{Suite: "pure", Commit: "00000001", Tests: []kept.Test{
			test("a TestOld", result.Passed, 1), test("a TestBoth", result.Failed, 2), test("a TestLeftOut", result.Passed, 3),
			test("internal/check/rules TestFixtures/host-pid/pass/pod.yaml", result.Passed, 0.25),
			test("internal/check/rules TestFixtures/host-pid/fail/pod.yaml", result.Passed, 0.5),
			test("internal/check/rules TestFixtures/host-pid-other/pass/pod.yaml", result.Failed, 9),
		}},
		{Suite: "pure", Commit: "00000002", Tests: []kept.Test{
			test("a TestBoth/part", result.Failed, 9), test("a TestBoth", result.Flaky, 4), test("a TestLeftOut", result.Skipped, 0),
			test("b TestOld", result.Passed, 5),
		}},
		{Suite: "pure", Commit: "00000003", Changed: true, Tests: []kept.Test{test("a TestBoth", result.Failed, 6)}},
		{Suite: "cluster", Commit: "00000004", Tests: []kept.Test{
			test("test/e2e TestCluster/scripts/dns", result.Passed, 7), test("test/e2e TestCluster", result.Failed, 8),
			test("internal/diagnose TestEachTroubleIsFound/x/one", result.Failed, 1),
			test("internal/diagnose TestEachTroubleIsFound/x/two", result.Passed, 1),
		}},
	} {
		r.Began = began.AddDate(0, 0, i)
		if _, err := kept.Write(filepath.Join(root, kept.Folder), r); err != nil {
			t.Fatal(err)
		}
	}

	for name, text := range map[string]string{
		"docs/conformance/serial-1.36.0.txt": "# 2026-10-01, Mullion of commit aaaaaaaa, somewhere.\npassed 1 1 a\n",
		"docs/conformance/serial-1.37.1.txt": "# Results.\n# 2026-11-28, Mullion of commit bbbbbbbb, somewhere.\n" +
			"passed 1 1 a\nfailed 1 1 b\nskipped 1 1 c\n",
		"docs/conformance/storage-1.37.1.txt": "# Results.\n# 2026-11-28, `make`\nflaky 1 1 a\n",
		"docs/conformance/empty-1.37.1.txt":   "# 2026-11-28, `make`\n",
		"docs/compat/documents/results.yaml": "samples:\n- {id: seen, date: '2026-11-25', commit: cccccccc, seconds: 2, seen: true}\n" +
			"- {id: unseen, date: '2026-11-26', commit: dddddddd, seconds: 3}\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return root
}

func areas(named ...string) []documents.Area {
	return []documents.Area{{Name: "an area", Rows: []documents.Statement{{Says: "something", Is: documents.Works, Shown: named}}}}
}

func TestRuns(t *testing.T) {
	const (
		first  = "results/pure/20261101T100000Z-00000001.json"
		second = "results/pure/20261102T100000Z-00000002.json"
		fourth = "results/cluster/20261104T100000Z-00000004.json"
	)
	want := documents.Runs{
		"a TestOld":     {Date: "2026-11-01", Commit: "00000001", File: first, Outcome: "passed", Seconds: 1},
		"a TestBoth":    {Date: "2026-11-02", Commit: "00000002", File: second, Outcome: "passed at its second try", Seconds: 4},
		"a TestLeftOut": {Date: "2026-11-01", Commit: "00000001", File: first, Outcome: "passed", Seconds: 3},
		"rule host-pid": {Date: "2026-11-01", Commit: "00000001", File: first, Outcome: "passed", Seconds: 0.75},
		"script dns":    {Date: "2026-11-04", Commit: "00000004", File: fourth, Outcome: "passed", Seconds: 7},
		"probe x":       {Date: "2026-11-04", Commit: "00000004", File: fourth, Outcome: "failed", Seconds: 2},
		"suite serial": {
			Date: "2026-11-28", Commit: "bbbbbbbb", File: "docs/conformance/serial-1.37.1.txt", Outcome: "1 of 3 specs passed",
		},
		"suite storage": {Date: "2026-11-28", File: "docs/conformance/storage-1.37.1.txt", Outcome: "1 of 1 specs passed"},
		"sample seen": {
			Date: "2026-11-25", Commit: "cccccccc", File: "docs/compat/documents/results.yaml", Outcome: "passed", Seconds: 2,
		},
		"sample unseen": {
			Date: "2026-11-26", Commit: "dddddddd", File: "docs/compat/documents/results.yaml",
			Outcome: "failed: it was otherwise than the table says", Seconds: 3,
		},
	}

	got, err := shown.Runs(tree(t), areas("a TestOld", "a TestBoth", "a TestLeftOut", "a TestNever", "rule host-pid", "script dns",
		"script none", "probe x", "suite serial", "suite storage", "sample seen", "sample unseen", "sample never", "net test"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestRunsRefuse: what is kept in another form is not passed over.
func TestRunsRefuse(t *testing.T) {
	for _, name := range []string{"suite empty", "suite none"} {
		if got, err := shown.Runs(tree(t), areas(name)); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}

	root := tree(t)
	file := filepath.Join(root, "results/pure/20261101T100000Z-00000001.json")
	if err := os.WriteFile(file, []byte(strings.Repeat("{", 3)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := shown.Runs(root, areas("a TestOld")); err == nil {
		t.Errorf("a broken result: %v", got)
	}
}
