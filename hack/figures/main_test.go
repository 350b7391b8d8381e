package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/hack/kept"
	"mullion.dev/mullion/internal/conformance/result"
)

// TestPapersQuoteTheKeptResults holds that README.md and the documents say what the results say.
func TestPapersQuoteTheKeptResults(t *testing.T) {
	if err := run("../..", true); err != nil {
		t.Error(err)
	}
}

func TestPut(t *testing.T) {
	const page = "a\n<!-- figures: x (written by hack/figures) -->\nold\n<!-- end of x -->\nb\n"
	got, err := put(page, "x", "new\n")
	if want := strings.Replace(page, "old", "new", 1); err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}

	for name, text := range map[string]string{
		"no marker":  "a\n",
		"no end":     "<!-- figures: x (written by hack/figures) -->\nold\n",
		"other name": strings.ReplaceAll(page, "figures: x", "figures: y"),
	} {
		if got, err := put(text, "x", "new\n"); err == nil {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// TestReadSuite counts a list, and refuses one that is not as such lists are.
func TestReadSuite(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "docs", "conformance", "serial-"+kubernetes+".txt")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}

	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := readSuite(root, "serial"); err == nil {
		t.Error("a list that is not there was read")
	}

	write("# Results.\n# 2026-11-28, somewhere.\npassed 0.1 1 a\nfailed 1 2 b\nskipped 0 1 c\nflaky 3 2 d\n\n")
	want := suite{
		name:     "serial",
		date:     "2026-11-28",
		selected: 4,
		passed:   1,
		flaky:    1,
		failed:   1,
		other:    1,
	}

	if got, err := readSuite(root, "serial"); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}

	for _, text := range []string{"", "# 2026-11-28, x\n", "passed 0.1 1 a\n", "# 2026-11-28, x\nbroken 1 1 a\n"} {
		write(text)
		if got, err := readSuite(root, "serial"); err == nil {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

func TestAreas(t *testing.T) {
	got := areas("x.md", "# T\n\n## One\n\n| a | partly | n |\n| b | not | n |\n| c | supported |  |\n\n## Two\n\nwords\n")
	if len(got) != 1 || got[0].name != "One" || got[0].levels["partly"] != 1 || got[0].levels["not"] != 1 || got[0].levels["supported"] != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestFlaky(t *testing.T) {
	again := func(name, reason string) kept.Test {
		return kept.Test{
			Name:     name,
			State:    result.Flaky,
			Attempts: 2,
			Reason:   reason,
		}
	}

	got := flaky(map[string][]kept.Result{"wine": {
		{Commit: "0123abcd", Tests: []kept.Test{
			again("test/x TestX/part", "x_test.go:1: a | b\nmore"), again("test/x TestX", ""),
			{Name: "test/x TestY", State: result.Passed},
			{Name: "test/x TestZ", State: result.Skipped},
		}},
		{Commit: "4567abcd", Tests: []kept.Test{{Name: "test/x TestX", State: result.Failed, Reason: "no"}}},
	}})

	const want = `| rung | runs | with a flaky test | tests that ran in them | flaky | of a thousand |
|---|---|---|---|---|---|
| wine | 2 | 1 | 4 | 1 | 250.00 |

| rung | test | commit | what it said |
|---|---|---|---|
| wine | ` + "`test/x TestX/part`" + ` | 0123abcd | x_test.go:1: a \| b |
`

	if got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
}
