package rules

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/check"
)

// Markdown prints all rules as a page: docs/check-rules.md.
func Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(
		"# Rules of mullion check\n\nPrinted by `mullion check rules -o markdown`; `make update` writes it. [Examples](check-examples.md) show what the findings look like.\n\n" +
			"An error means that the pod will not run, or that the API server or the kubelet refuses it. A warning means that a field is ignored, or does something else than on Linux. \"CEL\" means that the rule also has the form of an admission policy.\n")

	all := All()
	var categories []string
	for _, r := range all {
		if !slices.Contains(categories, r.Category) {
			categories = append(categories, r.Category)
		}
	}

	for _, category := range categories {
		fmt.Fprintf(&b, "\n## %s\n", category)
		for i := range all {
			if all[i].Category == category {
				section(&b, &all[i])
			}
		}
	}

	_, err := io.WriteString(w, b.String())
	return err
}

// section prints one rule.
func section(b *strings.Builder, r *check.Rule) {
	facts := []string{string(r.Severity)}
	if v := r.Range(); v != "" {
		facts = append(facts, v)
	}
	if r.Refused != 0 {
		facts = append(facts, fmt.Sprintf("refused from Kubernetes 1.%d on where `os.name` is windows", r.Refused))
	}

	if r.Fix != nil {
		facts = append(facts, "can be fixed")
	}
	if len(r.Match) > 0 {
		facts = append(facts, "CEL")
	}

	fields := slices.Clone(r.Fields)
	for _, m := range r.Match {
		fields = append(fields, m.Path)
	}

	where := "Fields"
	if r.Target == check.OnContainer {
		where = "Fields of each container"
	}
	fmt.Fprintf(b, "\n### %s\n\n%s. *%s.*\n\n- Why: %s.\n- What to do: %s.\n",
		r.ID, sentence(r.Title), strings.Join(facts, "; "), plain(r.Why), plain(r.Remedy))
	if r.Target != check.OnProgram {
		fmt.Fprintf(b, "- %s: `%s`\n", where, strings.Join(fields, "`, `"))
	}

	fmt.Fprintf(b, "- Source: [%s](%s)\n", r.Source.Title, r.Source.URL)
}

// sentence returns s with a capital letter, unless it begins with the name of a field.
func sentence(s string) string {
	first, _, _ := strings.Cut(s, " ")
	s = plain(s)
	if strings.Contains(first, ".") || strings.ToLower(first[1:]) != first[1:] {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// plain escapes the characters that have a meaning in Markdown.
func plain(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "]", `\]`).Replace(s)
}
