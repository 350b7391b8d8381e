package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"gotest.tools/v3/golden"

	"mullion.dev/mullion/internal/diagnose"
	"mullion.dev/mullion/internal/diagnose/report"
)

// hostile is what a cluster of others may say: terminal sequences, markup, line ends.
const hostile = "\x1b[31mred\r\nok: all ]]><a>&\"'\u202e\u2028\xff"

func results() []diagnose.Result {
	probe := func(id string) *diagnose.Probe {
		return &diagnose.Probe{
			ID:     id,
			Title:  "a trouble",
			Items:  []int{9},
			Source: diagnose.Source{Heading: "My pods", URL: "https://example.org/#" + id},
		}
	}

	return []diagnose.Result{
		{Probe: probe("a-thing"), Verdict: diagnose.Found, Findings: []diagnose.Finding{
			{
				Object:   "node win-1",
				Evidence: []string{"one", "two"},
				Cause:    "a cause",
				Remedies: []string{"do `this`", "or that"},
			},
			{Object: "pod " + hostile, Evidence: []string{hostile}, Cause: hostile, Remedies: []string{hostile}},
		}},
		{Probe: probe("b-thing"), Verdict: diagnose.OK},
		{Probe: probe("c-thing"), Verdict: diagnose.CannotTell, Why: "events: not permitted"},
		{Probe: probe("d-thing"), Verdict: diagnose.CannotTell, Why: "events: not permitted"},
		{Probe: probe("e-thing"), Verdict: diagnose.CannotTell, Why: hostile},
	}
}

func output(t *testing.T, r report.Report, format string) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.Write(&out, format); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGoldens(t *testing.T) {
	r := report.Report{
		Results: results(),
		Nodes:   []string{"win-1", "win-2"},
		Server:  "v1.37.1",
	}

	for _, format := range report.Formats() {
		got := output(t, r, format)
		golden.Assert(t, got, format+".golden")
		if i := strings.IndexFunc(got, func(c rune) bool { return c < ' ' && c != '\n' }); i >= 0 {
			t.Errorf("%s: %q is printed raw", format, got[i:min(i+10, len(got))])
		}

		for line := range strings.Lines(got) {
			if format == "text" && strings.HasPrefix(line, "ok: all") {
				t.Errorf("the cluster prints a line of its own: %s", line)
			}
		}
	}

	r.All = true
	if got := output(t, r, "text"); !strings.Contains(got, "\nok: not found: a trouble [b-thing]\n") {
		t.Errorf("with all:\n%s", got)
	}
}

// TestNothing: reports of nothing are whole, too.
func TestNothing(t *testing.T) {
	if got := output(t, report.Report{}, "text"); got != "0 probes on no Windows node: 0 found something, 0 nothing, 0 cannot tell\n" {
		t.Error(got)
	}
	var j struct{ Nodes, Probes []any }
	if err := json.Unmarshal([]byte(output(t, report.Report{}, "json")), &j); err != nil || j.Nodes == nil || j.Probes == nil {
		t.Errorf("%v, %+v", err, j)
	}

	var suites struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Skipped  int `xml:"skipped,attr"`
		} `xml:"testsuite"`
	}

	if err := xml.Unmarshal([]byte(output(t, report.Report{Results: results()}, "junit")), &suites); err != nil {
		t.Fatal(err)
	}
	if s := suites.Suites; len(s) != 1 || s[0].Tests != 6 || s[0].Failures != 2 || s[0].Skipped != 3 {
		t.Errorf("%+v", s)
	}
}
