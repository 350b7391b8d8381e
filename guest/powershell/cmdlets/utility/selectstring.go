package utility

import (
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
		if err != nil {
			return err
		}
		patterns = append(patterns, p)
	}

	if !c.Piped {
		return selectInFiles(c, patterns)
	}

	for i, item := range c.Input {
		if o, ok := item.(*object.Object); ok && o.Kind == "file" {
			file := cmdlet.Target{Name: object.Text(o), Full: object.Text(o)}
			if err := selectInFile(c, file, patterns); err != nil {
				return err
			}
			continue
		}

		for line := range strings.Lines(object.Text(item) + "\n") {
			if err := selectLine(c, strings.TrimRight(line, "\r\n"), "", int64(i+1), patterns); err != nil {
				return err
			}
		}
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

func selectInFiles(c *cmdlet.Call, patterns []*pattern.Pattern) error {
	if err := c.ReportMissed(); err != nil {
		return err
	}
	if err := c.ForEach(func(t cmdlet.Target) error { return selectInFile(c, t, patterns) }); err != nil {
		return err
	}
	return quiet(c)
}

func selectInFile(c *cmdlet.Call, t cmdlet.Target, patterns []*pattern.Pattern) error {
	data, err := os.ReadFile(t.Full)
	if err != nil {
		return err
	}
	n := int64(0)
	for line := range strings.Lines(provider.FileText(data)) {
		n++
		if err := selectLine(c, strings.TrimRight(line, "\r\n"), t.Full, n, patterns); err != nil {
			return err
		}
	}
	return nil
}

// selectLine outputs a line if it matches. Of several patterns the first that matches counts.
func selectLine(c *cmdlet.Call, line, file string, number int64, patterns []*pattern.Pattern) error {
	var matched *pattern.Pattern
	for _, p := range patterns {
		yes, err := p.Matches(line)
		if err != nil {
			return err
		}
		if yes && matched == nil {
			matched = p
		}
	}
	if (matched != nil) == c.Flags["notmatch"] || (c.Flags["quiet"] && c.Flags["found"]) {
		return nil
	}

	if c.Flags["found"] = true; c.Flags["quiet"] {
		return c.Out.Put(true)
	}
	name, source := "InputStream", ""
	if file != "" {
		name = filepath.Base(file)
	}

	var found []object.Value
	if matched != nil {
		source = matched.Source
		var err error
		if found, err = matchObjects(c, matched, line); err != nil {
			return err
		}
	}

	path := file
	if file == "" {
		path = "InputStream"
	}
	o := object.New("selected line").Set("IgnoreCase", !c.Flags["casesensitive"]).Set("LineNumber", number).
		Set("Line", line).Set("Filename", name).Set("Path", path).Set("Pattern", source).Set("Matches", found)
	o.Shown = format.SelectedText
	return c.Output(o)
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
