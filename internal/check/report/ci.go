package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/internal/base/junit"
	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/manifest"
)

// GitHub prints workflow commands, which GitHub Actions shows as annotations of the changed lines.
// https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
type GitHub struct{ w io.Writer }

// NewGitHub prints to w.
func NewGitHub(w io.Writer) *GitHub { return &GitHub{w} }

// Result prints a line for each fault and for each finding that is not suppressed.
func (g *GitHub) Result(r check.Result) error {
	var b strings.Builder
	for _, f := range r.Faults {
		level, title := "error", "not read"
		if f.Unlisted {
			level, title = "notice", "not listed"
		}
		annotation{level, r.File, f.Pos, title, strings.TrimSpace(f.Message + "\n" + f.Remedy)}.write(&b)
	}

	for _, f := range r.Findings {
		if f.Suppressed != "" {
			continue
		}
		level := string(f.Severity)
		if f.Severity == check.Info {
			level = "notice"
		}

		message := fmt.Sprintf("%s %s: %s\n%s\n→ %s", f.Object.Kind, name(f.Object), f.Message, f.Rule.Why,
			f.Rule.Remedy)
		annotation{level, f.File, f.Pos, f.Rule.ID, message}.write(&b)
	}

	_, err := io.WriteString(g.w, b.String())
	return err
}

// Close does nothing: each line is complete.
func (g *GitHub) Close() error { return nil }

type annotation struct {
	level, file    string
	pos            manifest.Pos
	title, message string
}

// write escapes the text as the runner expects it. No text of a manifest begins a line, so no manifest can give
// commands.
func (a annotation) write(b *strings.Builder) {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	file := strings.ReplaceAll(plaintext.Printable(filepath.ToSlash(a.file)), "\n", "·")
	fmt.Fprintf(b, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", a.level,
		property.Replace(file), a.pos.Line, a.pos.Column, property.Replace(a.title),
		data.Replace(plaintext.Printable(a.message)))
}

// JUnit prints a test report: a suite for each document that has a workload or a fault. A finding belongs to the test
// named after its rule: if it is at least as bad as failOn, the test fails; otherwise the test passes and the finding
// is its output.
type JUnit struct {
	w      *junit.Writer
	failOn check.Severity
}

// NewJUnit prints to w.
func NewJUnit(w io.Writer, failOn check.Severity) *JUnit {
	return &JUnit{w: junit.NewWriter(w, "mullion check"), failOn: failOn}
}

// Result prints one document's suite.
func (j *JUnit) Result(r check.Result) error {
	var cases []junit.Case
	for _, f := range r.Faults {
		if f.Unlisted {
			cases = append(cases, junit.Case{
				Class:   r.File,
				Name:    "list",
				Skipped: &junit.Message{Message: f.Message},
			})
			continue
		}

		cases = append(cases, junit.Case{
			Class: r.File,
			Name:  "read",
			Error: &junit.Message{
				Message: f.Message,
				Type:    "fault",
				Text:    fmt.Sprintf("%s:%d:%d: %s\n%s", r.File, f.Line, f.Column, f.Message, f.Remedy),
			},
		})
	}

	for _, f := range r.Findings {
		text := fmt.Sprintf("%s:%d:%d: %s %s: %s: %s\n%s\n→ %s\n%s", f.File, f.Line, f.Column, f.Object.Kind,
			name(f.Object), f.Path, f.Message, f.Rule.Why, f.Rule.Remedy, f.Rule.Source.URL)
		c := junit.Case{Class: f.Object.Kind + " " + name(f.Object), Name: f.Rule.ID}
		switch {
		case f.Suppressed != "":
			c.Skipped = &junit.Message{Message: f.Suppressed}
		case f.Severity.AtLeast(j.failOn):
			c.Failure = &junit.Message{
				Message: f.Message,
				Type:    string(f.Severity),
				Text:    text,
			}

		default:
			c.Out = string(f.Severity) + ": " + text
		}

		cases = append(cases, c)
	}

	pods := 0
	for _, n := range r.Pods {
		pods += n
	}

	if len(cases) == 0 && pods > 0 {
		cases = []junit.Case{{Class: r.File, Name: "no findings"}}
	}
	if len(cases) == 0 {
		return nil
	}

	return j.w.Suite(r.File, cases)
}

// Close ends the report.
func (j *JUnit) Close() error { return j.w.Close() }
