package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"gotest.tools/v3/golden"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/manifest"
	"mullion.dev/mullion/internal/check/report"
)

type printer interface {
	Result(check.Result) error
	Close() error
}

// printers returns all formats, by the name of their golden.
func printers(out *bytes.Buffer) map[string]func() printer {
	return map[string]func() printer{
		"text":       func() printer { return report.NewText(out) },
		"suppressed": func() printer { p := report.NewText(out); p.ShowSuppressed = true; return p },
		"json":       func() printer { p := report.NewJSON(out); p.ShowSuppressed = true; return p },
		"sarif":      func() printer { return report.NewSARIF(out, "v0") },
		"github":     func() printer { return report.NewGitHub(out) },
		"junit":      func() printer { return report.NewJUnit(out, check.Error) },
	}
}

// hostile is what a manifest may say anywhere: terminal sequences, workflow commands, markup, links, line ends.
const hostile = "\x1b[31mred\r\n::error::x]]><a>&\"'%0A[l](http://x){0}\u202e\u2028,:\xff"

func results() []check.Result {
	rule := func(id string, s check.Severity) *check.Rule {
		return &check.Rule{
			ID:       id,
			Severity: s,
			Category: "pod",
			Title:    "a title",
			Why:      "a reason",
			Remedy:   "add a: {b: c}",
			Source:   check.Source{Title: "s", URL: "https://example.org/#s"},
		}
	}

	find := func(r *check.Rule, name, text, suppressed string) check.Finding {
		return check.Finding{
			Rule:     r,
			Severity: r.Severity,
			Object: check.Object{
				Kind:      "Pod",
				Namespace: "ns",
				Name:      name,
			},
			File:       "dir/a file.yaml",
			Message:    text,
			Snippet:    "  x: " + text,
			Suppressed: suppressed,
			Hit:        check.Hit{Pos: manifest.Pos{Line: 3, Column: 5}, Path: "spec.x"},
		}
	}

	bad := rule("bad-thing", check.Error)
	poor := rule("poor-thing", check.Warning)
	so := rule("so-thing", check.Info)
	return []check.Result{
		{
			File: "dir/a file.yaml",
			Pods: map[check.OS]int{check.Windows: 1},
			Findings: []check.Finding{
				find(bad, "p", "a title", ""), find(poor, "p", "a title: note", ""), find(so, "p", "a title", ""),
				find(bad, "p", "a title", "we know"),
			},
		},
		{
			File:     "dir/a file.yaml",
			Pods:     map[check.OS]int{check.Either: 1},
			Findings: []check.Finding{find(bad, hostile, hostile, ""), find(poor, hostile, hostile, hostile)},
			Faults: []manifest.Fault{{
				Pos:     manifest.Pos{Line: 9, Column: 1},
				Fatal:   true,
				Message: hostile,
				Remedy:  hostile,
			}},
		},
		{File: hostile, Pods: map[check.OS]int{check.Linux: 1}, Passed: map[string]int{hostile: 1}},
	}
}

func output(t *testing.T, format string, rs []check.Result) string {
	t.Helper()
	var out bytes.Buffer
	p := printers(&out)[format]()
	for _, r := range rs {
		if err := p.Result(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGoldens(t *testing.T) {
	for format := range printers(nil) {
		got := output(t, format, results())
		golden.Assert(t, got, format+".golden")
		if i := strings.IndexFunc(got, func(r rune) bool {
			escapes := format == "sarif" || format == "json" || format == "junit"
			return (r != '\n' && r < ' ') || (r == '\u202e' && !escapes)
		}); i >= 0 {
			t.Errorf("%s: %q is printed raw", format, got[i:min(i+10, len(got))])
		}

		for line := range strings.Lines(got) {
			if (format == "text" || format == "github") && strings.HasPrefix(line, "::error::x") {
				t.Errorf("%s: the manifest prints a line of its own: %s", format, line)
			}
		}
	}
}

// TestSARIF holds the log against what sarif-schema-2.1.0.json requires of the parts that are used.
func TestSARIF(t *testing.T) {
	for name, rs := range map[string][]check.Result{"some": results(), "none": nil} {
		var log struct {
			Version *string
			Runs    []struct {
				ColumnKind string
				Tool       *struct {
					Driver *struct {
						Name  string
						Rules []struct {
							ID               string
							ShortDescription struct{ Text string }
							HelpURI          string
						}
					}
				}
				Results *[]struct {
					RuleID    string
					RuleIndex int
					Level     string
					Message   struct{ Text string }
					Locations []struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI string }
							Region           struct{ StartLine, StartColumn int }
						}
					}
					Suppressions []struct{ Kind, Justification string }
				}
				Invocations []struct{ ExecutionSuccessful *bool }
			}
		}

		if err := json.Unmarshal([]byte(output(t, "sarif", rs)), &log); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if log.Version == nil || *log.Version != "2.1.0" || len(log.Runs) != 1 {
			t.Fatalf("%s: version or runs: %+v", name, log)
		}

		run := log.Runs[0]
		if run.Tool == nil || run.Tool.Driver == nil || run.Tool.Driver.Name == "" || run.Results == nil ||
			len(run.Invocations) != 1 || run.Invocations[0].ExecutionSuccessful == nil {
			t.Fatalf("%s: a required part is missing: %+v", name, run)
		}
		want := 0
		for _, r := range rs {
			want += len(r.Findings)
		}

		if len(*run.Results) != want {
			t.Errorf("%s: %d results, want %d", name, len(*run.Results), want)
		}

		for _, r := range *run.Results {
			at := r.Locations[0].PhysicalLocation
			switch {
			case r.Message.Text == "", at.ArtifactLocation.URI != "dir/a%20file.yaml", at.Region.StartLine < 1,
				at.Region.StartColumn < 1:
				t.Errorf("%s: %+v", name, r)

			case r.Level != "error" && r.Level != "warning" && r.Level != "note":
				t.Errorf("%s: level %q", name, r.Level)
			case r.RuleIndex >= len(run.Tool.Driver.Rules) || run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID:
				t.Errorf("%s: rule %d is not %s", name, r.RuleIndex, r.RuleID)
			case len(r.Suppressions) > 0 &&
				(r.Suppressions[0].Kind != "inSource" || r.Suppressions[0].Justification == ""):
				t.Errorf("%s: %+v", name, r.Suppressions)
			}
		}
	}
}

func TestJUnitCounts(t *testing.T) {
	var report struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Cases    []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}

	if err := xml.Unmarshal([]byte(output(t, "junit", results())), &report); err != nil {
		t.Fatal(err)
	}

	for _, s := range report.Suites {
		failures := 0
		for _, c := range s.Cases {
			if c.Failure != nil {
				failures++
			}
		}

		if s.Tests != len(s.Cases) || s.Failures != failures {
			t.Errorf("counts %+v", s)
		}
	}

	if n := len(report.Suites); n != 3 {
		t.Errorf("%d suites, want one for each document", n)
	}
}
