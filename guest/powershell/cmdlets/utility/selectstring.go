package utility

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
)

// selectString outputs the lines of files or texts that match.
func selectString(c *cmdlet.Call) error {
	var patterns []*pattern.Pattern
	for v := range object.Each(c.Values["pattern"]) {
		source := object.Text(v)
		if c.Flags["simplematch"] {
			source = regexp.QuoteMeta(source)
		}
		p, err := pattern.CompileAs(source, c.Flags["casesensitive"])
		if e, ok := errors.AsType[*object.Exception](err); ok && e.Class == object.ArgumentException {
			return &object.Exception{
				Class:    e.Class,
				ID:       "InvalidRegex",
				Category: "InvalidArgument",
				Message:  "The string " + source + " is not a valid regular expression: " + e.Message,
			}
		}
		if err != nil {
			return err
		}
		patterns = append(patterns, p)
	}

	context, err := contextOf(c)
	if err != nil {
		return err
	}
	if !c.Piped {
		return selectInFiles(c, patterns, context)
	}

	var lines []inputLine
	for i, item := range c.Input {
		if o, ok := item.(*object.Object); ok && o.Kind == "file" {
			file := cmdlet.Target{Name: object.Text(o), Full: object.Text(o)}
			if err := selectInFile(c, file, patterns, context); err != nil {
				return err
			}
			continue
		}

		for line := range strings.Lines(object.Text(item) + "\n") {
			lines = append(lines, inputLine{strings.TrimRight(line, "\r\n"), int64(i + 1)})
		}
	}
	if err := selectLines(c, lines, "", patterns, context); err != nil {
		return err
	}

	return quiet(c)
}

// quiet outputs the answer of -Quiet if nothing has matched.
func quiet(c *cmdlet.Call) error {
	if c.Flags["quiet"] && !c.Flags["found"] {
		return c.Out.Put(false)
	}
	return nil
}

// around is how many lines are shown before and after one that matches.
type around struct{ before, after int }

// contextOf returns what -Context asks for: one number counts for both sides.
func contextOf(c *cmdlet.Call) (around, error) {
	var sides []int
	for v := range object.Each(c.Values["context"]) {
		n, err := object.Integer(v)
		if err != nil || n < 0 {
			return around{}, object.Thrown("Cannot validate argument on parameter 'Context'. The %s argument is less than the "+
				"minimum allowed range of 0.", object.Text(v))
		}
		sides = append(sides, int(n))
	}

	switch len(sides) {
	case 0:
		return around{}, nil
	case 1:
		return around{sides[0], sides[0]}, nil
	}
	return around{sides[0], sides[1]}, nil
}

// inputLine is a line of a file, or a text of the pipeline, with its number from 1.
type inputLine struct {
	text   string
	number int64
}

func selectInFiles(c *cmdlet.Call, patterns []*pattern.Pattern, context around) error {
	if err := c.ReportMissed(); err != nil {
		return err
	}
	if err := c.ForEach(func(t cmdlet.Target) error { return selectInFile(c, t, patterns, context) }); err != nil {
		return err
	}
	return quiet(c)
}

func selectInFile(c *cmdlet.Call, t cmdlet.Target, patterns []*pattern.Pattern, context around) error {
	data, err := os.ReadFile(t.Full)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		return c.Fail(unread(t.Full, err))
	}
	var lines []inputLine
	for line := range strings.Lines(provider.FileText(data)) {
		lines = append(lines, inputLine{strings.TrimRight(line, "\r\n"), int64(len(lines) + 1)})
	}
	return selectLines(c, lines, t.Full, patterns, context)
}

// unread is the error for what cannot be read, after which the rest is looked at. Windows refuses to open a folder as
// it refuses a file of others.
func unread(path string, err error) error {
	why := err.Error()
	if info, known := os.Stat(path); errors.Is(err, fs.ErrPermission) || (known == nil && info.IsDir()) {
		why = fmt.Sprintf("Access to the path '%s' is denied.", path)
	}
	return &object.Exception{
		Class:    "System.ArgumentException",
		ID:       "ProcessingFile",
		Category: "InvalidArgument",
		Target:   path,
		Message:  fmt.Sprintf("The file %s can not be read: %s", path, why),
	}
}

// selectLines outputs those of the lines that match, with -List the first of a file alone. A line is shown once,
// however many matches it is near: before a match what no match has shown yet, after it what comes before the next one.
func selectLines(
	c *cmdlet.Call, lines []inputLine, file string, patterns []*pattern.Pattern, context around,
) error {
	var found []int
	var by []*pattern.Pattern
	for i, line := range lines {
		p, err := matching(line.text, patterns)
		if err != nil {
			return err
		}
		if (p != nil) == c.Flags["notmatch"] {
			continue
		}
		if found, by = append(found, i), append(by, p); (c.Flags["list"] && file != "") || c.Flags["quiet"] {
			break
		}
	}

	shown := 0 // the lines before it have been shown
	for n, i := range found {
		if c.Flags["quiet"] {
			if c.Flags["found"] {
				return nil
			}
			c.Flags["found"] = true
			return c.Out.Put(true)
		}

		o, err := selectedLine(c, lines[i], file, by[n])
		if err != nil {
			return err
		}
		if context != (around{}) {
			next := len(lines)
			if n+1 < len(found) {
				next = found[n+1]
			}
			from, to := max(0, i-context.before), min(len(lines), i+1+context.after)
			o.Set("Context", contextObject(lines, from, i, to, max(from, shown), min(to, next)))
			shown = max(shown, min(to, next), i+1)
		}
		if err := c.Output(o); err != nil {
			return err
		}
	}

	return nil
}

// contextObject returns a MatchInfoContext: the lines near line i, and those of them that are shown with it.
func contextObject(lines []inputLine, from, i, to, shownFrom, shownTo int) *object.Object {
	texts := func(from, to int) object.Value {
		out := []object.Value{}
		for _, line := range lines[min(from, to):to] {
			out = append(out, line.text)
		}
		return out
	}
	return object.New("context of a line").Set("PreContext", texts(from, i)).Set("PostContext", texts(i+1, to)).
		Set("DisplayPreContext", texts(shownFrom, i)).Set("DisplayPostContext", texts(i+1, shownTo))
}

// matching returns the first of several patterns that matches a line; nil: none does.
func matching(line string, patterns []*pattern.Pattern) (*pattern.Pattern, error) {
	for _, p := range patterns {
		if yes, err := p.Matches(line); yes || err != nil {
			return p, err
		}
	}
	return nil, nil
}

// selectedLine returns a line that a pattern matches; nil: none does, as -NotMatch asks.
func selectedLine(c *cmdlet.Call, line inputLine, file string, matched *pattern.Pattern) (*object.Object, error) {
	name, path := "InputStream", "InputStream"
	source := ""
	if file != "" {
		name, path = filepath.Base(file), file
	}

	var found []object.Value
	if matched != nil {
		source = matched.Source
		var err error
		if found, err = matchObjects(c, matched, line.text); err != nil {
			return nil, err
		}
	}

	o := object.New("selected line").Set("IgnoreCase", !c.Flags["casesensitive"]).Set("LineNumber", line.number).
		Set("Line", line.text).Set("Filename", name).Set("Path", path).Set("Pattern", source).Set("Matches", found)
	o.Shown = format.SelectedText
	return o, nil
}

// matchObjects returns the matches in a line, with their groups: the first, or with -AllMatches all.
func matchObjects(c *cmdlet.Call, p *pattern.Pattern, line string) ([]object.Value, error) {
	most := 1
	if c.Flags["allmatches"] {
		most = -1
	}
	found, err := p.All(line, most)
	all := []object.Value{}
	for _, m := range found {
		all = append(all, dotnet.MatchOf(p, line, m))
	}
	return all, err
}
