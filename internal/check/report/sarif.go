package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/internal/check"
)

// maxNotifications bounds the faults that are listed one by one in a SARIF file, because they are kept until its end.
const maxNotifications = 1000

// SARIF prints one log of the Static Analysis Results Interchange Format 2.1.0, for code scanning services. Results are
// written as they come; the rules with results, and the faults, follow at the end.
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type SARIF struct {
	w       io.Writer
	version string
	index   map[string]int
	rules   []sarifRule
	faults  []sarifNotification
	failed  bool // a fault is that something was not read
	more    int
	results int
}

// NewSARIF prints to w; version is the checker's own.
func NewSARIF(w io.Writer, version string) *SARIF {
	return &SARIF{
		w:       w,
		version: version,
		index:   map[string]int{},
	}
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifRule struct {
	ID            string            `json:"id"`
	Short         sarifText         `json:"shortDescription"`
	Full          sarifText         `json:"fullDescription"`
	Help          sarifText         `json:"help"`
	HelpURI       string            `json:"helpUri"`
	Configuration map[string]string `json:"defaultConfiguration"`
	Properties    map[string]any    `json:"properties"`
}

type sarifRegion struct {
	StartLine   int        `json:"startLine"`
	StartColumn int        `json:"startColumn"`
	Snippet     *sarifText `json:"snippet,omitempty"`
}

type sarifPhysical struct {
	Artifact map[string]string `json:"artifactLocation"`
	Region   sarifRegion       `json:"region"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

type sarifLocation struct {
	Physical sarifPhysical  `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}

type sarifResult struct {
	RuleID       string             `json:"ruleId"`
	RuleIndex    int                `json:"ruleIndex"`
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
}

type sarifNotification struct {
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

// Result prints one document's findings.
func (s *SARIF) Result(r check.Result) error {
	for _, f := range r.Faults {
		s.failed = s.failed || !f.Unlisted
		if len(s.faults) >= maxNotifications && !f.Unlisted {
			s.more++
			continue
		}
		text := f.Message
		if f.Remedy != "" {
			text += " (" + f.Remedy + ")"
		}

		level := "error"
		if f.Unlisted {
			level = "note"
		}
		s.faults = append(s.faults, sarifNotification{
			level, sarifMessage(text),
			[]sarifLocation{sarifAt(r.File, f.Line, f.Column, "")},
		})
	}

	for _, f := range r.Findings {
		at := sarifAt(f.File, f.Line, f.Column, f.Snippet)
		at.Logical = []sarifLogical{{f.Object.Kind + " " + name(f.Object) + ": " + f.Path, "member"}}
		v := sarifResult{
			RuleID:    f.Rule.ID,
			RuleIndex: s.rule(f.Rule),
			Level:     sarifLevel(f.Severity),
			Message:   sarifMessage(f.Message),
			Locations: []sarifLocation{at},
		}

		if f.Suppressed != "" {
			v.Suppressions = []sarifSuppression{{"inSource", f.Suppressed}}
		}
		before := ",\n"
		if s.results == 0 {
			before = s.head()
		}

		s.results++
		if err := s.write(before, v); err != nil {
			return err
		}
	}

	return nil
}

func (s *SARIF) head() string {
	return `{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"columnKind":"unicodeCodePoints","results":[` + "\n"
}

// Close prints the rules and the faults.
func (s *SARIF) Close() error {
	before := "\n],\"tool\":"
	if s.results == 0 {
		before = s.head() + `],"tool":`
	}
	driver := map[string]any{"name": "mullion check", "version": s.version, "rules": append([]sarifRule{}, s.rules...)}
	if err := s.write(before, map[string]any{"driver": driver}); err != nil {
		return err
	}

	if s.more > 0 {
		s.faults = append(s.faults, sarifNotification{
			Level:     "error",
			Message:   sarifMessage(fmt.Sprintf("%d more faults of reading", s.more)),
			Locations: []sarifLocation{},
		})
	}

	invocation := map[string]any{
		"executionSuccessful":        !s.failed,
		"toolExecutionNotifications": append([]sarifNotification{}, s.faults...),
	}
	if err := s.write(",\n\"invocations\":", []any{invocation}); err != nil {
		return err
	}
	_, err := io.WriteString(s.w, "}]}\n")
	return err
}

func (s *SARIF) write(before string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = s.w.Write(append([]byte(before), text...))
	}
	return err
}

// rule returns the number of a rule in the list that Close prints.
func (s *SARIF) rule(r *check.Rule) int {
	i, ok := s.index[r.ID]
	if !ok {
		i = len(s.rules)
		s.index[r.ID] = i
		s.rules = append(s.rules, sarifRule{
			ID:            r.ID,
			Short:         sarifMessage(r.Title),
			Full:          sarifMessage(r.Why),
			Help:          sarifMessage(r.Remedy),
			HelpURI:       r.Source.URL,
			Configuration: map[string]string{"level": sarifLevel(r.Severity)},
			Properties:    map[string]any{"tags": []string{r.Category}},
		})
	}

	return i
}

func sarifLevel(s check.Severity) string {
	if s == check.Info {
		return "note"
	}
	return string(s)
}

// sarifMessage makes a message of plain text: brackets would begin a link, braces a placeholder (sections 3.11.5,
// 3.11.6).
func sarifMessage(s string) sarifText {
	return sarifText{strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "{", "{{", "}", "}}").Replace(s)}
}

func sarifAt(file string, line, column int, snippet string) sarifLocation {
	u := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	at := sarifLocation{Physical: sarifPhysical{map[string]string{"uri": u.String()}, sarifRegion{
		StartLine:   max(line, 1),
		StartColumn: max(column, 1),
	}}}
	if snippet != "" {
		at.Physical.Region.Snippet = &sarifText{snippet}
	}
	return at
}
