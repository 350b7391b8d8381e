// Package report prints the checker's findings: one type for each format, with Result for each document's result, in
// order, and Close at the end. It decides nothing.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/check"
)

// Text prints for people: findings by object, each with its line of the file, and a summary.
type Text struct {
	// ShowSuppressed: findings that an annotation ignores are printed too, with the reason.
	ShowSuppressed bool

	w     io.Writer
	last  string
	count map[check.Severity]int
	pods  map[check.OS]int
	other map[string]int
	more  int // of kinds that are not in other
	bad   int
	quiet int
}

// NewText prints to w.
func NewText(w io.Writer) *Text {
	return &Text{
		w:     w,
		count: map[check.Severity]int{},
		pods:  map[check.OS]int{},
		other: map[string]int{},
	}
}

// Result prints the findings of one document.
func (t *Text) Result(r check.Result) error {
	var b strings.Builder
	for _, f := range r.Faults {
		what := "not listed"
		if !f.Unlisted {
			what = "not read"
			t.bad++
		}

		fmt.Fprintf(&b, "%s:%d:%d: %s: %s\n", plaintext.OneLine(r.File), f.Line, f.Column, what,
			plaintext.OneLine(f.Message))
		if f.Remedy != "" {
			fmt.Fprintf(&b, "  → %s\n", plaintext.OneLine(f.Remedy))
		}
	}

	for _, f := range r.Findings {
		if f.Suppressed != "" {
			t.quiet++
			if !t.ShowSuppressed {
				continue
			}
		} else {
			t.count[f.Severity]++
		}

		head := plaintext.OneLine(fmt.Sprintf("%s %s (%s)", f.Object.Kind, name(f.Object), r.File))
		if head != t.last {
			fmt.Fprintf(&b, "%s\n", head)
			t.last = head
		}

		if f.Suppressed != "" {
			fmt.Fprintf(&b, "  %d:%d suppressed: %s [%s]\n      reason: %s\n", f.Line, f.Column, plaintext.OneLine(f.Message),
				f.Rule.ID, plaintext.OneLine(f.Suppressed))
			continue
		}
		fmt.Fprintf(&b, "  %d:%d %s: %s [%s]\n", f.Line, f.Column, f.Severity, plaintext.OneLine(f.Message), f.Rule.ID)
		if f.Snippet != "" {
			fmt.Fprintf(&b, "      | %s\n", plaintext.OneLine(f.Snippet))
		}

		fmt.Fprintf(&b, "      %s\n      → %s\n", f.Rule.Why, f.Rule.Remedy)
	}

	t.sum(r)
	_, err := io.WriteString(t.w, plaintext.Printable(b.String()))
	return err
}

// mostKinds is how many kinds of objects are named in the summary, mostCounted how many are told apart.
const (
	mostKinds   = 30
	mostCounted = 1000
)

// sum adds what is in the summary alone.
func (t *Text) sum(r check.Result) {
	for severity, n := range r.Unlisted.Findings {
		t.count[severity] += n
	}

	t.quiet += r.Unlisted.Suppressed
	t.bad += r.Unlisted.Faults
	for k, n := range r.Pods {
		t.pods[k] += n
	}

	for k, n := range r.Passed {
		if _, known := t.other[k]; !known && len(t.other) >= mostCounted {
			t.more += n
			continue
		}
		t.other[k] += n
	}
}

// name returns an object's name in messages: namespace/name.
func name(o check.Object) string { return strings.TrimPrefix(o.Namespace+"/"+o.Name, "/") }

// Close prints the summary.
func (t *Text) Close() error {
	var kinds []string
	more := t.more
	for _, k := range slices.Sorted(maps.Keys(t.other)) {
		if len(kinds) == mostKinds {
			more += t.other[k]
			continue
		}
		name := k
		if k == "" {
			name = "no object"
		}
		kinds = append(kinds, fmt.Sprintf("%d %s", t.other[k], name))
	}

	if more > 0 {
		kinds = append(kinds, fmt.Sprintf("%d of more kinds", more))
	}
	line := fmt.Sprintf(
		"%d errors, %d warnings, %d infos; workloads: %d for Windows, %d undecided, %d for Linux (not judged)",
		t.count[check.Error], t.count[check.Warning], t.count[check.Info], t.pods[check.Windows], t.pods[check.Either],
		t.pods[check.Linux])

	if t.quiet > 0 {
		line += fmt.Sprintf("; %d suppressed", t.quiet)
	}
	if len(kinds) > 0 {
		line += "; passed over: " + strings.Join(kinds, ", ")
	}
	if t.bad > 0 {
		line += fmt.Sprintf("; %d faults of reading", t.bad)
	}

	_, err := fmt.Fprintln(t.w, plaintext.OneLine(line))
	return err
}

// JSON prints one object a line: {"finding": …} or {"fault": …}.
type JSON struct {
	// ShowSuppressed: findings that an annotation ignores are printed too, with the reason.
	ShowSuppressed bool

	enc *json.Encoder
}

// NewJSON prints to w.
func NewJSON(w io.Writer) *JSON {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &JSON{enc: enc}
}

type finding struct {
	Rule     string         `json:"rule"`
	Severity check.Severity `json:"severity"`
	Message  string         `json:"message"`
	Why      string         `json:"why"`
	Remedy   string         `json:"remedy"`
	Source   string         `json:"source"`
	Object   check.Object   `json:"object"`
	File     string         `json:"file"`
	Line     int            `json:"line"`
	Column   int            `json:"column"`
	Path     string         `json:"path"`
	// Suppressed is the reason of the annotation that ignores the rule.
	Suppressed string `json:"suppressed,omitempty"`
}

type fault struct {
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	// Unlisted says that all was read, and that what is listed of the file ends here.
	Unlisted bool `json:"unlisted,omitempty"`
}

// Result prints one document's faults and findings.
func (j *JSON) Result(r check.Result) error {
	for _, f := range r.Faults {
		v := fault{f.Message, f.Remedy, r.File, f.Line, f.Column, f.Unlisted}
		if err := j.enc.Encode(map[string]fault{"fault": v}); err != nil {
			return err
		}
	}

	for _, f := range r.Findings {
		if f.Suppressed != "" && !j.ShowSuppressed {
			continue
		}
		v := finding{
			f.Rule.ID, f.Severity, f.Message, f.Rule.Why, f.Rule.Remedy, f.Rule.Source.URL, f.Object, r.File,
			f.Line, f.Column, f.Path, f.Suppressed,
		}

		if err := j.enc.Encode(map[string]finding{"finding": v}); err != nil {
			return err
		}
	}

	return nil
}

// Close does nothing: each line is complete.
func (j *JSON) Close() error { return nil }
