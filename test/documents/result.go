package documents

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Results are what was seen when the samples were tried.
type Results struct {
	Samples []Outcome `json:"samples"`
}

// Outcome is what was seen of one sample.
type Outcome struct {
	ID string `json:"id"`
	// Date is the day, Commit the commit of this repository, Kubernetes the version of the cluster.
	Date       string `json:"date"`
	Commit     string `json:"commit"`
	Kubernetes string `json:"kubernetes"`
	// Seen says whether everything was seen that the table says.
	Seen    bool    `json:"seen"`
	Seconds float64 `json:"seconds"`
}

// Put puts an outcome in the place of the sample's earlier one.
func (r *Results) Put(o Outcome) {
	r.Samples = slices.DeleteFunc(r.Samples, func(old Outcome) bool { return old.ID == o.ID })
	r.Samples = append(r.Samples, o)
	slices.SortFunc(r.Samples, func(a, b Outcome) int { return cmp.Compare(a.ID, b.ID) })
}

func resultsFile(dir string) string { return filepath.Join(dir, "results.yaml") }

// ReadResults reads what a folder has; nothing, if it has none.
func ReadResults(dir string) (Results, error) {
	var r Results
	text, err := os.ReadFile(resultsFile(dir))
	if os.IsNotExist(err) {
		return r, nil
	}
	if err == nil {
		err = yaml.UnmarshalStrict(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read %q: %w", resultsFile(dir), err)
	}
	return r, nil
}

// Write writes the results to their file in a folder.
func (r *Results) Write(dir string) error {
	text, err := yaml.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(resultsFile(dir), text, 0o644)
}

const head = `# The samples of the documents

Printed from the table and the results of ` + "`test/documents`" + `; ` + "`make test-documents`" + ` tries them on a
cluster, ` + "`make update`" + ` writes this page. Each is a manifest or a command of a document that people read to
begin with, taken as it stands. What cannot be copied here is written anew, and marked so. A sample that does not work
is tried too, and what is seen then is what its last column says.

`

// WritePage prints the page: a summary, and a table for each document.
func WritePage(w io.Writer, samples []Sample, results Results) error {
	var b strings.Builder
	b.WriteString(head)
	summary(&b, samples)
	for _, d := range documents(samples) {
		fmt.Fprintf(&b, "## [%s](%s)\n\n| sample | what it is | part of the document | result | tried | what does not work, "+
			"and why |\n|---|---|---|---|---|---|\n", d.Title, d.Page)
		for _, s := range samples {
			if s.Document == d {
				b.WriteString(s.line(results))
			}
		}
		b.WriteString("\n")
	}

	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n"))
	return err
}

// documents returns the samples' documents in the order in which they come.
func documents(samples []Sample) []Document {
	var all []Document
	for _, s := range samples {
		if !slices.Contains(all, s.Document) {
			all = append(all, s.Document)
		}
	}
	return all
}

// summary writes how many samples there are of each level.
func summary(b *strings.Builder, samples []Sample) {
	b.WriteString("| result | samples |\n|---|---|\n")
	for _, level := range []Level{Works, Partly, Not, NotRun} {
		n := 0
		for _, s := range samples {
			if s.Level == level {
				n++
			}
		}
		fmt.Fprintf(b, "| %s | %d |\n", level, n)
	}
	b.WriteString("\n")
}

// line returns the sample's line of its table.
func (s Sample) line(results Results) string {
	what := fmt.Sprintf("[%s.yaml](../../%s)", s.ID, s.Path())
	if s.Kind != Manifest {
		what = "`" + strings.ReplaceAll(strings.ReplaceAll(s.Text, "\n", " ⏎ "), "|", "\\|") + "`"
		if s.Origin == Prose {
			what = s.Text
		}
	}

	kind := string(s.Kind)
	if s.Origin != Verbatim && s.Origin != Prose {
		kind += ", " + string(s.Origin)
	}

	tried := "not tried"
	for _, o := range results.Samples {
		if o.ID == s.ID && o.Seen {
			tried = o.Date
		} else if o.ID == s.ID {
			tried = o.Date + ": otherwise than the table says"
		}
	}

	if s.Level == NotRun {
		tried = ""
	}
	why := strings.ReplaceAll(s.Why, "|", "\\|")
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", what, kind, s.Heading, s.Level, tried, why)
}
