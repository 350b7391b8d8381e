package documents_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/test/documents"
)

// TestSamples checks what the harness takes for granted of the table.
func TestSamples(t *testing.T) {
	ids := map[string]documents.Sample{}
	for _, s := range documents.Samples() {
		if _, twice := ids[s.ID]; twice {
			t.Errorf("there are two samples %s", s.ID)
		}
		ids[s.ID] = s
	}

	for _, s := range documents.Samples() {
		if s.Level != documents.Works && s.Why == "" {
			t.Errorf("%s: %s, but not why", s.ID, s.Level)
		}
		if ran := len(s.Steps) != 0 || s.Refused != ""; ran == (s.Level == documents.NotRun) {
			t.Errorf("%s: %s, with %d steps", s.ID, s.Level, len(s.Steps))
		}
		if with, ok := ids[s.With]; s.With != "" && (!ok || with.Kind != documents.Manifest) {
			t.Errorf("%s is tried with %q, which is no manifest", s.ID, s.With)
		}

		for _, step := range s.Steps {
			if _, err := regexp.Compile("(?s)" + step.Want); err != nil || step.Want == "" {
				t.Errorf("%s: pattern %q: %v", s.ID, step.Want, err)
			}
			if inPod := strings.HasPrefix(string(step.On), "pod"); inPod == (step.Pod == "") {
				t.Errorf("%s: a step on %q with pod %q", s.ID, step.On, step.Pod)
			}
		}
	}
}

// TestVerbatim holds that commands are run as the document has them: a step's command line holds the sample's text.
func TestVerbatim(t *testing.T) {
	for _, s := range documents.Samples() {
		if s.Kind == documents.Manifest || s.Kind == documents.Settings || s.Origin == documents.Prose ||
			s.Level == documents.NotRun {
			continue
		}
		for line := range strings.SplitSeq(s.Command(), "\n") {
			runs := func(step documents.Step) bool { return strings.Contains(step.Run, line) }
			if !slices.ContainsFunc(s.Steps, runs) {
				t.Errorf("%s: no step runs %q", s.ID, line)
			}
		}
	}
}

// TestManifests holds that each manifest has its file, and that each file belongs to a manifest.
func TestManifests(t *testing.T) {
	var want []string
	for _, s := range documents.Samples() {
		if s.Kind != documents.Manifest {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", "..", s.Path())); err != nil {
			t.Errorf("%s: %v", s.ID, err)
		}
		if s.File == "" {
			want = append(want, s.ID+".yaml")
		}
	}

	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}

	slices.Sort(want)
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("testdata (-want +got):\n%s", diff)
	}
}

// TestReadme holds that testdata's README says where every manifest there comes from.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range documents.Samples() {
		family, _, _ := strings.Cut(s.ID, "-")
		if s.Kind == documents.Manifest && s.File == "" && !strings.Contains(string(text), "| `"+family+"-*` |") {
			t.Errorf("testdata/README.md says nothing of %s-*", family)
		}
	}
}

func TestResultsAndPage(t *testing.T) {
	d := documents.Document{Title: "A page", Page: "https://example.org/"}
	samples := []documents.Sample{
		{ID: "a", Document: d, Heading: "1", Kind: documents.Manifest, Origin: documents.Restored, Level: documents.Works},
		{
			ID: "b", Document: d, Heading: "Two", Kind: documents.OnNode, Text: "Get-It | ? Name", Origin: documents.Verbatim,
			Level: documents.Not, Why: "a part is not there",
		},
		{ID: "c", Document: d, Heading: "Two", Kind: documents.OnNode, Text: "nssm", Level: documents.NotRun, Why: "no nssm"},
		{ID: "d", Document: d, Heading: "Two", Kind: documents.Operator, Text: "look", Level: documents.Works},
	}

	dir := t.TempDir()
	for _, seen := range []bool{false, true} { // the second run counts
		r, err := documents.ReadResults(dir)
		if err != nil {
			t.Fatal(err)
		}
		r.Put(documents.Outcome{
			ID:   "b",
			Date: "2026-01-02",
			Seen: !seen,
		})

		r.Put(documents.Outcome{
			ID:   "a",
			Date: "2026-01-02",
			Seen: seen,
		})
		if err := r.Write(dir); err != nil {
			t.Fatal(err)
		}
	}

	results, err := documents.ReadResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := documents.WritePage(&page, samples, results); err != nil {
		t.Fatal(err)
	}

	_, tables, _ := strings.Cut(page.String(), "| result | samples |\n|---|---|\n")
	want := `| works | 2 |
| partly | 0 |
| does not work | 1 |
| not run | 1 |

## [A page](https://example.org/)

| sample | what it is | part of the document | result | tried | what does not work, and why |
|---|---|---|---|---|---|
| [a.yaml](../../test/documents/testdata/a.yaml) | manifest, verbatim, lost lines put back | 1 | works | 2026-01-02 |  |
| ` + "`Get-It \\| ? Name`" + ` | command on the node | Two | does not work | 2026-01-02: otherwise than the table says | a part is not there |
| ` + "`nssm`" + ` | command on the node,  | Two | not run |  | no nssm |
| ` + "`look`" + ` | command on the operator's machine,  | Two | works | not tried |  |
`

	if diff := cmp.Diff(want, tables); diff != "" {
		t.Errorf("the page (-want +got):\n%s", diff)
	}
}
