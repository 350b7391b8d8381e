// Package dockerout owns how commands print that have the words of Docker: by templates, as JSON, in columns, and what
// was pruned; and how they read what is to be pruned, and times.
package dockerout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"mullion.dev/mullion/internal/base/fieldtemplate"
	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
)

// Format is a value of --format: a template for each thing that is printed, or "" or "json".
type Format struct {
	flag, see string // the template as it was given; what shows the fields
	template  *fieldtemplate.Template
}

// formatFuncs returns what Docker's templates call (https://docs.docker.com/engine/cli/formatting/).
func formatFuncs() fieldtemplate.Funcs {
	return fieldtemplate.Funcs{
		"json":     jsonText,
		"join":     strings.Join,
		"lower":    strings.ToLower,
		"upper":    strings.ToUpper,
		"split":    strings.Split,
		"title":    title,
		"pad":      pad,
		"truncate": truncate,
	}
}

// jsonText returns a value as JSON.
func jsonText(v any) (string, error) { return indented(v, "") }

// indented returns a value as JSON, with the letters of HTML as they are.
func indented(v any, indent string) (string, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return strings.TrimSuffix(text.String(), "\n"), err
}

// JSON prints a value as JSON. What an image's maker has written draws nothing on a terminal.
func JSON(env invoke.Env, v any, indent string) error {
	text, err := indented(v, indent)
	if err != nil {
		return err
	}
	if env.Terminal {
		text = plaintext.Printable(text)
	}
	_, err = fmt.Fprintln(env.Out, text)
	return err
}

// title begins each word with a large letter.
func title(s string) string {
	words := strings.Split(s, " ")
	for i, w := range words {
		if w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}

// mostPadding bounds what is added to a text that is not empty.
const mostPadding = 1 << 10

func pad(s string, before, after int) string {
	if s == "" {
		return s
	}
	spaces := func(n int) string { return strings.Repeat(" ", min(max(n, 0), mostPadding)) }
	return spaces(before) + s + spaces(after)
}

// truncate returns the beginning of a text, of so many letters.
func truncate(s string, letters int) string {
	if all := []rune(s); len(all) > max(letters, 0) {
		return string(all[:max(letters, 0)])
	}
	return s
}

// tableWord before a template asks for columns with a heading.
const tableWord = "table "

// Parse reads a value of --format; see shows the fields, for the error of one that is wrong. A tab and the end of a
// line may be written as in Go.
func Parse(text, see string) (*Format, error) {
	f := &Format{flag: text, see: see}
	if text == "" || text == "json" || text == "table" {
		return f, nil
	}
	body := strings.NewReplacer(`\t`, "\t", `\n`, "\n").Replace(strings.TrimPrefix(text, tableWord))
	var err error
	if f.template, err = fieldtemplate.Parse(body, formatFuncs()); err != nil {
		return nil, f.wrong(err)
	}
	f.template.Strict = true
	return f, nil
}

func (f *Format) wrong(err error) error {
	return exit.Misuse(fmt.Errorf("--format: %w", err), f.see)
}

// IsJSON reports whether a thing is printed whole.
func (f *Format) IsJSON() bool { return f != nil && f.flag == "json" }

// Given reports whether there is a template.
func (f *Format) Given() bool { return f != nil && f.template != nil }

// table reports whether columns with a heading are asked for.
func (f *Format) table() bool { return strings.HasPrefix(f.flag, tableWord) }

// Line returns what the template makes of a thing. What an image's maker has written draws nothing on a terminal.
func (f *Format) Line(env invoke.Env, of any) (string, error) {
	var line strings.Builder
	if err := f.template.Execute(&line, of); err != nil {
		// As with Docker, the names that JSON has do as well: .Id beside .ID.
		line.Reset()
		if f.template.Execute(&line, asJSON(of)) != nil {
			return "", f.wrong(err)
		}
	}

	if !env.Terminal {
		return line.String(), nil
	}
	columns := strings.Split(line.String(), "\t")
	for i := range columns {
		columns[i] = plaintext.Printable(columns[i])
	}

	return strings.Join(columns, "\t"), nil
}

// asJSON returns a value by the names that it has in JSON.
func asJSON(of any) any {
	var raw any
	text, err := json.Marshal(of)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber() // as it is written
		err = d.Decode(&raw)
	}
	if err != nil {
		return nil
	}
	return raw
}

// Print prints a line for each thing, and heading above them if columns are asked for.
func (f *Format) Print(env invoke.Env, heading any, all []any) error {
	to := env.Out
	if f.table() {
		columns := tabwriter.NewWriter(env.Out, 10, 1, 3, ' ', 0)
		defer columns.Flush()
		to, all = columns, append([]any{heading}, all...)
	}

	for _, one := range all {
		line, err := f.Line(env, one)
		if err != nil {
			return err
		}
		fmt.Fprintln(to, line)
	}

	return nil
}

// Each prints things as `docker inspect` does: all of them as JSON, or each by a template.
func Each[T any](env invoke.Env, found []T, show *Format) error {
	if show.flag == "" {
		return JSON(env, found, "    ")
	}

	for _, i := range found {
		if show.IsJSON() {
			if err := JSON(env, i, ""); err != nil {
				return err
			}
			continue
		}

		line, err := show.Line(env, i)
		if err != nil {
			return err
		}
		fmt.Fprintln(env.Out, line)
	}

	return nil
}
