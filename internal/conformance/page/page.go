// Package page renders the results of conformance runs: as one self-contained HTML file, as a summary in Markdown, and
// as JUnit XML and JSON for other programs. It reads results and writes files; it runs nothing.
package page

import (
	"bytes"
	_ "embed" // the page's template
	"encoding/json"
	"fmt"
	"html"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/fieldtemplate"
	"mullion.dev/mullion/internal/conformance/result"
)

// The files that are written into a run's folder.
const (
	HTMLFile     = "index.html"
	MarkdownFile = "summary.md"
	JUnitFile    = "junit.xml"
	JSONFile     = "results.json"
)

// maxLog is how many bytes of a log the page shows, from its end.
const maxLog = 64 << 10

// Page is the content of the HTML file and the summary.
type Page struct {
	Run   result.Run
	Areas []Area
	// Counts are all specs by state; Total is their sum.
	Counts map[result.State]int
	Total  int
	// Failures are the specs that failed, or passed only at another attempt, with their causes; Groups are the same
	// failures by cause.
	Failures []Failure
	Groups   []Group
	// Causes are the numbers of failed specs by class.
	Causes []CauseCount
	// History are the compared runs, the newest first. Grid has a row for each spec.
	History []result.Run
	Grid    []Row
	// Limits are what the reader has to know to judge the numbers.
	Limits []string
}

// Area is a special interest group's share.
type Area struct {
	Name    string
	Counts  map[result.State]int
	Total   int
	Seconds float64
	Specs   []result.Spec
}

// Failure is a failed spec with its cause and logs.
type Failure struct {
	result.Spec
	Cause           result.Cause
	Output, NodeLog string
}

// CauseCount is the number of specs that failed by a class of causes.
type CauseCount struct {
	Class result.Class
	Count int
}

// Row is a spec across runs; Cells are in the order of the history.
type Row struct {
	Name, Area string
	Cells      []Cell
	// Failure is the spec's number if it is one of the page's failures, or 0.
	Failure int
	// Differs says that the spec did not end alike in all its runs.
	Differs bool
}

// Cell is a spec in a run.
type Cell struct {
	State   result.State
	Seconds float64
	Run     string
}

// Make makes the page of the run in folder, compared with earlier runs in the folders of history.
func Make(folder string, history []string, causes result.Causes) (*Page, error) {
	results, err := result.Load(folder)
	if err != nil {
		return nil, err
	}

	p := &Page{Run: results.Run, Counts: map[result.State]int{}}
	all := results.All()
	p.Total = len(all)
	areas := map[string]*Area{}
	byClass := map[result.Class]int{}
	for _, s := range all {
		p.Counts[s.State]++
		a := areas[s.Area()]
		if a == nil {
			a = &Area{Name: s.Area(), Counts: map[result.State]int{}}
			areas[a.Name] = a
		}

		a.Counts[s.State]++
		a.Total++
		a.Seconds += s.Seconds
		a.Specs = append(a.Specs, s)
		if s.State == result.Failed || s.State == result.Flaky || s.State == result.Cut {
			output := readFile(folder, s.Output)
			f := Failure{
				Spec:    s,
				Cause:   causes.Of(s, output),
				Output:  end(output, s.Output),
				NodeLog: end(readFile(folder, s.NodeLog), s.NodeLog),
			}

			p.Failures = append(p.Failures, f)
			if s.State == result.Failed {
				byClass[f.Cause.Class]++
			}
		}
	}

	for _, a := range areas {
		p.Areas = append(p.Areas, *a)
	}

	slices.SortFunc(p.Areas, func(a, b Area) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range result.Classes() {
		if byClass[c] > 0 {
			p.Causes = append(p.Causes, CauseCount{c, byClass[c]})
		}
	}

	p.Groups = group(p.Failures)
	p.Limits = limits(results.Run)
	return p, p.compare(results, history)
}

// compare makes the grid of the run and earlier ones.
func (p *Page) compare(results result.Results, history []string) error {
	runs := []result.Results{results}
	for _, path := range history {
		earlier, err := result.Load(path)
		if err != nil {
			return err
		}
		if earlier.Run.ID != results.Run.ID {
			runs = append(runs, earlier)
		}
	}

	rows := map[string]*Row{}
	for i, r := range runs {
		p.History = append(p.History, r.Run)
		for _, s := range r.All() {
			row := rows[s.Name]
			if row == nil {
				row = &Row{
					Name:  s.Name,
					Area:  s.Area(),
					Cells: make([]Cell, len(runs)),
				}
				rows[s.Name] = row
			}

			for _, earlier := range row.Cells[:i] {
				row.Differs = row.Differs || (earlier.State != "" && earlier.State != s.State)
			}

			row.Cells[i] = Cell{
				State:   s.State,
				Seconds: s.Seconds,
				Run:     r.Run.ID,
			}
		}
	}

	for _, f := range p.Failures {
		rows[f.Name].Failure = f.Number
	}

	for _, row := range rows {
		p.Grid = append(p.Grid, *row)
	}

	slices.SortFunc(p.Grid, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// limits returns the Limits of a run.
func limits(run result.Run) []string {
	var out []string
	if run.End != result.Complete {
		reason := run.Reason
		if reason == "" {
			reason = "it is still running, or its runner was killed"
		}
		out = append(out, "The run is partial: "+reason+".")
	}

	if run.Emulated {
		out = append(
			out, "The Windows nodes are Mullion's: upstream's kubelet.exe and kube-proxy.exe under Wine on Linux, not Windows Server.")
	}
	if len(run.StandIns) > 0 {
		out = append(out, fmt.Sprintf("%d of the test images are not wholly upstream's; the list is at the end.",
			len(run.StandIns)))
	}

	return out
}

// mostOfFile is how large a file of a run is that is read, in bytes.
const mostOfFile = 256 << 20

// readFile reads a file of a run's folder; "" if it is missing or lies outside the folder.
func readFile(folder, name string) string {
	if name == "" || !filepath.IsLocal(name) {
		return ""
	}
	data, err := beneath.ReadIn(folder, name, mostOfFile)
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(data), "�")
}

// end returns the part of a file's text that the page shows.
func end(text, name string) string {
	if len(text) <= maxLog {
		return text
	}
	text = text[len(text)-maxLog:]
	return "(the beginning is left out; the whole is in " + name + ")\n" + text[strings.IndexByte(text, '\n')+1:]
}

//go:embed page.html.tmpl
var pageTemplate string

// HTML returns the page as HTML. The template has values only in text, in attributes in quotes and, of Mullion's own,
// in names of classes: they are escaped alike.
func (p *Page) HTML() ([]byte, error) {
	t, err := fieldtemplate.Parse(pageTemplate, fieldtemplate.Funcs{
		"states":  p.states,
		"percent": func(n, of int) string { return fmt.Sprintf("%.1f", 100*float64(n)/float64(max(of, 1))) },
		"took":    took,
		"time":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"day":     func(t time.Time) string { return t.Format("01-02") },
		"clock":   func(t time.Time) string { return t.Format("15:04") },
		"span":    func(d time.Duration) string { return took(d.Seconds()) },
		"class":   func(s result.State) string { return strings.ReplaceAll(string(s), " ", "-") },
		"mark":    mark,
		"area":    result.Spec.Area,
		"link":    link,
		"short":   func(name string) string { return result.Spec{Name: name}.ShortName() },
		"first":   func(s string) string { line, _, _ := strings.Cut(s, "\n"); return line },
	})
	if err != nil {
		return nil, fmt.Errorf("parse page: %w", err)
	}

	t.Escape = html.EscapeString
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("write page: %w", err)
	}

	return b.Bytes(), nil
}

// link returns a reference that a browser may follow; "": it is none.
func link(ref string) string {
	if !strings.HasPrefix(ref, "https://") {
		return ""
	}
	return ref
}

// states returns the states of specs in the page's runs, in the order in which they are shown.
func (p *Page) states() []result.State {
	return slices.DeleteFunc(result.States(), func(s result.State) bool {
		return !slices.ContainsFunc(p.Grid, func(r Row) bool {
			return slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.State == s })
		})
	})
}

// took returns a time in the units that a person would use.
func took(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)).Round(time.Second); {
	case seconds < 60:
		return fmt.Sprintf("%.1f s", seconds)
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
}

// mark returns a letter for a state, so that nobody has to distinguish colours.
func mark(s result.State) string {
	return map[result.State]string{
		result.Passed: "✓", result.Failed: "✗", result.Flaky: "~", result.Skipped: "s",
		result.Cut: "!", result.NotRun: "·",
	}[s]
}

// Write writes all forms into the run's folder and returns the HTML file's path.
func Write(folder string, history []string, causes result.Causes) (string, error) {
	p, err := Make(folder, history, causes)
	if err != nil {
		return "", err
	}
	results, err := result.Load(folder)
	if err != nil {
		return "", err
	}

	whole, err := p.HTML()
	if err != nil {
		return "", err
	}
	junit, err := JUnit(results, p.Failures)
	if err != nil {
		return "", err
	}

	raw, err := json.MarshalIndent(results, "", " ")
	if err != nil {
		return "", fmt.Errorf("encode results: %w", err)
	}

	for name, data := range map[string][]byte{
		HTMLFile:     whole,
		MarkdownFile: []byte(p.Markdown()),
		JUnitFile:    junit,
		JSONFile:     raw,
	} {
		if err := atomicfile.Write(filepath.Join(folder, name), data, 0o644); err != nil {
			return "", err
		}
	}

	return filepath.Join(folder, HTMLFile), nil
}
