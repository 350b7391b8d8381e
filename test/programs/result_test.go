package programs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/test/programs"
)

// TestRows checks what the harness takes for granted of the table.
func TestRows(t *testing.T) {
	ids := map[string]bool{}
	for _, row := range programs.Rows() {
		if ids[row.ID] {
			t.Errorf("there are two rows %s", row.ID)
		}
		ids[row.ID] = true
		if row.Missing != "" {
			continue
		}

		if row.Version == "" || len(row.Checks) == 0 {
			t.Errorf("%s has no version or no checks", row.ID)
		}

		names := map[string]bool{}
		for _, c := range row.Checks {
			if names[c.Name] {
				t.Errorf("%s has two checks %q", row.ID, c.Name)
			}
			names[c.Name] = true
			patterns := []string{c.Want}
			for _, a := range c.Asks {
				patterns = append(patterns, a.Want)
			}

			for _, p := range c.Writes {
				patterns = append(patterns, p)
			}

			for _, p := range patterns {
				if _, err := regexp.Compile(p); err != nil {
					t.Errorf("%s, %s: %v", row.ID, c.Name, err)
				}
			}
		}
	}
}

func TestResultsAndPage(t *testing.T) {
	rows := []programs.Row{
		{
			ID: "a", Title: "A", Version: "1", Family: programs.Go,
			Checks: []programs.Check{
				{Name: "good"}, {Name: "bad", Gaps: map[string]string{"8": "a part is not there"}}, {Name: "odd"},
			},
		},
		{ID: "b", Title: "B", Version: "2", Family: programs.Go, Checks: []programs.Check{{Name: "good"}}},
		{ID: "c", Title: "C", Family: programs.NotToBeHad, Missing: "nobody has it"},
	}

	dir := t.TempDir()
	for _, wine := range []string{"10.0", "8.0"} {
		o := programs.Outcome{
			ID:      "a",
			Version: "1",
			Date:    "2026-01-02",
			Commit:  "abc",
		}
		o.Add("good", true, time.Second)
		o.Add("bad", wine != "8.0", time.Second)
		o.Add("odd", wine != "8.0", time.Second)
		r, err := programs.ReadResults(dir, wine)
		if err != nil {
			t.Fatal(err)
		}

		r.Put(programs.Outcome{ID: "a", Version: "1"}) // an earlier run
		r.Put(programs.Outcome{
			ID:      "b",
			Version: "1",
			Date:    "2026-01-01",
		}) // an earlier version
		r.Put(o)
		if err := r.Write(dir); err != nil {
			t.Fatal(err)
		}
	}

	results, err := programs.ReadAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := programs.WritePage(&page, rows, results); err != nil {
		t.Fatal(err)
	}

	_, tables, _ := strings.Cut(page.String(), "## Go\n\n")
	want := `| program | version | what is tried | Wine 8.0 | Wine 10.0 | what does not pass, and why |
|---|---|---|---|---|---|
| A | 1 | good; bad; odd | 1 of 3 | 3 of 3 | Wine 8.0, bad: a part is not there; Wine 8.0, odd: not yet known why |
| B | 2 | good | not tried | not tried |  |

## Programs that could not be tried

| program | why |
|---|---|
| C | nobody has it |
`

	if diff := cmp.Diff(want, tables); diff != "" {
		t.Errorf("the page (-want +got):\n%s", diff)
	}
}

// TestTestdataIsUsed holds that rows name the scripts of testdata, and its folders.
func TestTestdataIsUsed(t *testing.T) {
	named := map[string]bool{}
	for _, row := range programs.Rows() {
		named[row.Source.Tree] = true
		for _, c := range row.Checks {
			for _, text := range c.Files {
				if name, ok := strings.CutPrefix(text, "@"); ok {
					if _, err := os.Stat(filepath.Join("testdata", name)); err != nil {
						t.Errorf("%s, %s: %v", row.ID, c.Name, err)
					}
					first, _, _ := strings.Cut(name, "/")
					named[first] = true
				}
			}
		}
	}

	delete(named, "")
	want := map[string]bool{
		"node.js": true, "deno.js": true, "bun.js": true, "express": true, "native": true, "dprint": true, "dotnet": true,
		"nssm": true, "postgres": true, "tools": true, "turbo": true,
	}
	if diff := cmp.Diff(want, named); diff != "" {
		t.Errorf("files and folders of testdata that rows name (-want +got):\n%s", diff)
	}
}
