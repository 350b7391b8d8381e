package page

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/conformance/result"
)

// Markdown returns a summary for a pull request or a chat.
func (p *Page) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Kubernetes e2e, suite %s\n\n", p.Run.Suite)
	fmt.Fprintf(&b, "%s, Kubernetes %s, e2e.test %s, Mullion %s, %d at a time, %s.\n\n",
		p.Run.Start.UTC().Format("2006-01-02 15:04 UTC"), p.Run.Server, p.Run.Test, p.Run.Mullion, p.Run.Processes,
		p.Run.Busy.Round(1e9))
	for _, l := range p.Limits {
		fmt.Fprintf(&b, "> %s\n", l)
	}

	if len(p.Limits) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(
		"| area | specs | passed | flaky | failed | skipped | cut | not run |\n|---|---|---|---|---|---|---|---|\n")
	row := func(name string, total int, c map[result.State]int) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d |\n", name, total, c[result.Passed], c[result.Flaky],
			c[result.Failed], c[result.Skipped], c[result.Cut], c[result.NotRun])
	}

	for _, a := range p.Areas {
		row(a.Name, a.Total, a.Counts)
	}

	row("**all**", p.Total, p.Counts)
	if len(p.Failures) > 0 {
		b.WriteString("\n| spec | state | cause | message |\n|---|---|---|---|\n")
	}
	for _, f := range p.Failures {
		line, _, _ := strings.Cut(f.Message, "\n")
		fmt.Fprintf(&b, "| %s | %s | %s: %s | %s |\n", cell(f.Name), f.State, f.Cause.Class, cell(f.Cause.Note),
			cell(line))
	}

	return b.String()
}

// cell makes a text fit a table's cell.
func cell(s string) string {
	s = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
	if r := []rune(s); len(r) > 160 {
		s = string(r[:160]) + "…"
	}
	return s
}

type junitSuite struct {
	XMLName    xml.Name        `xml:"testsuite"`
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	Failure   *junitMessage `xml:"failure,omitempty"`
	Skipped   *junitMessage `xml:"skipped,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit returns the results in the form that CI systems read, with the page's failures. In it a flaky spec counts as
// passed, and a spec that was cut or not run as skipped.
func JUnit(r result.Results, failures []Failure) ([]byte, error) {
	classes := map[string]result.Class{}
	for _, f := range failures {
		classes[f.Name] = f.Cause.Class
	}

	all := r.All()
	counts := result.Count(all)
	suite := junitSuite{
		Name:      "Kubernetes e2e " + r.Run.Suite,
		Tests:     len(all),
		Failures:  counts[result.Failed],
		Skipped:   counts[result.Skipped] + counts[result.Cut] + counts[result.NotRun],
		Time:      fmt.Sprintf("%.1f", r.Run.Busy.Seconds()),
		Timestamp: r.Run.Start.UTC().Format("2006-01-02T15:04:05"),
		Properties: []junitProperty{
			{"kubernetes", r.Run.Server},
			{"e2e.test", r.Run.Test},
			{"mullion", r.Run.Mullion},
			{"end", string(r.Run.End)},
		},
	}

	for _, ref := range slices.Sorted(maps.Keys(r.Run.StandIns)) {
		suite.Properties = append(suite.Properties, junitProperty{"stand-in " + ref, r.Run.StandIns[ref]})
	}

	for _, s := range all {
		c := junitCase{
			Name:      s.Name,
			ClassName: s.Area(),
			Time:      fmt.Sprintf("%.3f", s.Seconds),
		}

		switch line, _, _ := strings.Cut(s.Message, "\n"); s.State {
		case result.Failed:
			c.Failure = &junitMessage{
				Message: legal(line),
				Type:    string(classes[s.Name]),
				Text:    legal(s.Message + "\n" + s.Location),
			}

		case result.Skipped:
			c.Skipped = &junitMessage{Message: legal(line)}
		case result.Cut, result.NotRun:
			c.Skipped = &junitMessage{Message: string(s.State)}
		}

		suite.Cases = append(suite.Cases, c)
	}

	out, err := xml.MarshalIndent(suite, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode JUnit: %w", err)
	}
	return append([]byte(xml.Header), append(out, '\n')...), nil
}

// legal drops characters that XML 1.0 does not allow, such as the escape characters of terminals.
func legal(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' || (r >= 0x20 && r != 0xFFFE && r != 0xFFFF) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "�"))
}
