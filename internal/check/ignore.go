package check

import (
	"fmt"
	"strings"

	"mullion.dev/mullion/internal/check/manifest"
)

// IgnoreAnnotation on an object, or on its pod template, exempts the object from rules. Its value is "rule: reason",
// with semicolons between several.
const IgnoreAnnotation = "check.mullion.dev/ignore"

// Ignored are the rules from which an object's annotations exempt it, each with a reason. A nil *Ignored has none.
type Ignored struct{ reasons map[string]string }

// Reason returns why a rule is ignored, "" if it is not.
func (i *Ignored) Reason(rule string) string {
	if i == nil {
		return ""
	}
	return i.reasons[rule]
}

// ignored reads the annotations of an object and of its pod template. An invalid part has no effect and is a fault.
func ignored(n *manifest.Node, p *Pod) (*Ignored, []manifest.Fault) {
	holders := []*manifest.Node{n}
	if p != nil && p.Node != n {
		holders = append(holders, p.Node)
	}
	var (
		out    *Ignored
		faults []manifest.Fault
	)

	for _, holder := range holders {
		f := holder.Get("metadata", "annotations").Field(IgnoreAnnotation)
		if f == nil {
			continue
		}

		for entry := range strings.SplitSeq(f.Value.Text(), ";") {
			id, reason, _ := strings.Cut(entry, ":")
			id, reason = strings.TrimSpace(id), strings.TrimSpace(reason)
			switch {
			case id == "" && reason == "":
			case id == "" || reason == "":
				faults = append(faults, manifest.Fault{
					Pos: f.Pos,
					Message: fmt.Sprintf("annotation %s: %q has no reason, so nothing is ignored", IgnoreAnnotation,
						strings.TrimSpace(entry)),
					Remedy: `write "rule: reason", several with semicolons between`,
				})

			default:
				if out == nil {
					out = &Ignored{reasons: map[string]string{}}
				}
				out.reasons[id] = reason
			}
		}
	}

	return out, faults
}
