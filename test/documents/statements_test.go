package documents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/diagnose"
)

// evidence is everything that a statement may name as what shows it.
func evidence(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{"net test": true, "suite smoke": true}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == ".git" || name == "bin" || name == "upstream") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}

		text, err := os.ReadFile(path)
		pkg, outside := filepath.Rel(root, filepath.Dir(path))
		for _, m := range function.FindAllSubmatch(text, -1) {
			known[filepath.ToSlash(pkg)+" "+string(m[1])] = true
		}
		err = errors.Join(err, outside)

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	// The results of the other suites are kept, spec by spec.
	suites, err := filepath.Glob(filepath.Join(root, "docs/conformance/*-1.*.txt"))
	if err != nil || len(suites) == 0 {
		t.Fatalf("no results of suites: %v", err)
	}
	for _, s := range suites {
		name, _, _ := strings.Cut(filepath.Base(s), "-")
		known["suite "+name] = true
	}

	scripts, err := filepath.Glob(filepath.Join(root, "test/e2e/testdata/*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, s := range scripts {
		known["script "+strings.TrimSuffix(filepath.Base(s), ".txtar")] = true
	}

	for _, r := range rules.All() {
		known["rule "+r.ID] = true
	}

	for _, s := range Samples() {
		known["sample "+s.ID] = true
	}

	for _, p := range diagnose.Probes() {
		known["probe "+p.ID] = true
	}

	return known
}

// TestStatements: what a statement names exists; what works is shown by something, and what does not says why.
func TestStatements(t *testing.T) {
	areas, err := Statements()
	if err != nil {
		t.Fatal(err)
	}

	levels := map[Level]int{}
	known, seen, sources := evidence(t), map[string]bool{}, Sources()
	for _, a := range areas {
		for _, s := range a.Rows {
			if seen[s.Says] || s.Says == "" {
				t.Errorf("%s: %q is there twice, or empty", a.Name, s.Says)
			}
			seen[s.Says] = true
			levels[s.Is]++
			if !slices.Contains([]Level{Works, Partly, Not}, s.Is) {
				t.Errorf("%q: it is %q", s.Says, s.Is)
			}

			if s.Is == Works && len(s.Shown) == 0 {
				t.Errorf("%q: nothing shows that it works", s.Says)
			}
			if s.Is == Partly && s.Note == "" {
				t.Errorf("%q: it does not say what does not work", s.Says)
			}

			for _, e := range s.Shown {
				if !known[e] {
					t.Errorf("%q: there is no %q", s.Says, e)
				}
			}

			for _, d := range s.Docs {
				if sources[d].Title == "" {
					t.Errorf("%q: there is no document %q", s.Says, d)
				}
			}
		}
	}

	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	counts := fmt.Sprintf("%d of %d work, %d partly, %d do not", levels[Works], len(seen), levels[Partly], levels[Not])
	if !strings.Contains(string(readme), counts) {
		t.Errorf("README does not say that %s", counts)
	}
}

// TestStatementsPage prints statements with runs of all kinds, and without.
func TestStatementsPage(t *testing.T) {
	areas := []Area{{Name: "An area", Rows: []Statement{
		{Docs: []string{"intro"}, Says: "a|b", Is: Works, Shown: []string{"p TestA", "p TestFieldB"}, Note: "n"},
		{Docs: []string{"intro", "KEP"}, Says: "never", Is: Works, Shown: []string{"p TestFieldB"}},
		{Docs: []string{"KEP"}, Says: "broken", Is: Works, Shown: []string{"p TestA", "p TestC"}},
		{Docs: []string{"KEP"}, Says: "half", Is: Partly, Shown: []string{"suite s"}, Note: "why"},
		{Docs: []string{"KEP"}, Says: "no", Is: Not},
	}}}
	runs := Runs{
		"p TestA": {Date: "2026-11-01", Commit: "00000001", File: "results/x.json", Outcome: Passed, Seconds: 0.1234},
		"p TestC": {Date: "2026-11-02", Commit: "00000002", File: "results/y.json", Outcome: "failed", Seconds: 123.4},
		"suite s": {Date: "2026-11-03", File: "docs/s.txt", Outcome: "1 of 2 specs passed"},
	}

	const (
		shownA = "p TestA: [2026-11-01](../../results/x.json) 00000001, 0.123 s"
		shownC = "p TestC: [2026-11-02](../../results/y.json) 00000002, 123 s, failed"
	)
	var page strings.Builder
	if err := WriteStatements(&page, areas, runs); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(page.String(), "|---|---|---|---|---|\n")
	want := `| An area | 3 | 1 | 1 | 1 |
| all | 3 | 1 | 1 | 1 |

## An area

| what the documents say | documents | here | shown by, and when last | what is not so, and why |
|---|---|---|---|---|
| a\|b | intro | works | ` + shownA + `<br>p TestFieldB: no result is kept | n |
| never | intro, KEP | works, not shown | p TestFieldB: no result is kept |  |
| broken | KEP | works, not shown | ` + shownA + `<br>` + shownC + ` |  |
| half | KEP | partly | suite s: [2026-11-03](../../docs/s.txt), 1 of 2 specs passed | why |
| no | KEP | does not work |  |  |
`
	if got != want {
		t.Errorf("the page:\n%s\nwant:\n%s", got, want)
	}
}

// TestSamplesAgree: a statement that names a sample works no better than the sample.
func TestSamplesAgree(t *testing.T) {
	areas, err := Statements()
	if err != nil {
		t.Fatal(err)
	}
	levels := map[string]Level{}
	for _, s := range Samples() {
		levels["sample "+s.ID] = s.Level
	}
	for _, a := range areas {
		for _, s := range a.Rows {
			for _, shown := range s.Shown {
				if level, ok := levels[shown]; ok && s.Is == Works && level != Works {
					t.Errorf("%q works, and its %s is %q", s.Says, shown, level)
				}
			}
		}
	}
}
