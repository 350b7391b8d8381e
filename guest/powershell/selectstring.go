package powershell

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// selectString outputs the lines of files or texts that match.
func selectString(c *call) error {
	var patterns []*pattern
	for v := range each(c.values["pattern"]) {
		source := text(v)
		if c.flags["simplematch"] {
			source = regexp.QuoteMeta(source)
		}
		p, err := compileAs(source, c.flags["casesensitive"])
		if err != nil {
			return err
		}
		patterns = append(patterns, p)
	}
	if !c.piped {
		return c.selectInFiles(patterns)
	}
	for i, item := range c.input {
		if o, ok := item.(*object); ok && o.kind == "file" {
			if err := c.selectInFile(target{text(o), text(o), false}, patterns); err != nil {
				return err
			}
			continue
		}
		for line := range strings.Lines(text(item) + "\n") {
			if err := c.selectLine(strings.TrimRight(line, "\r\n"), "", int64(i+1), patterns); err != nil {
				return err
			}
		}
	}
	return c.quiet()
}

// quiet is the answer of -Quiet, if nothing has matched.
func (c *call) quiet() error {
	if c.flags["quiet"] && !c.flags["found"] {
		return c.out.put(false)
	}
	return nil
}

func (c *call) selectInFiles(patterns []*pattern) error {
	if err := c.reportMissed(); err != nil {
		return err
	}
	if err := c.forEach(func(t target) error { return c.selectInFile(t, patterns) }); err != nil {
		return err
	}
	return c.quiet()
}

func (c *call) selectInFile(t target, patterns []*pattern) error {
	data, err := os.ReadFile(t.full)
	if err != nil {
		return err
	}
	n := int64(0)
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\uFEFF")) {
		n++
		if err := c.selectLine(strings.TrimRight(line, "\r\n"), t.full, n, patterns); err != nil {
			return err
		}
	}
	return nil
}

// selectLine outputs a line if it matches. Of several patterns the first that matches counts.
func (c *call) selectLine(line, file string, number int64, patterns []*pattern) error {
	var matched *pattern
	for _, p := range patterns {
		yes, err := p.matches(line)
		if err != nil {
			return err
		}
		if yes && matched == nil {
			matched = p
		}
	}
	if (matched != nil) == c.flags["notmatch"] || c.flags["quiet"] && c.flags["found"] {
		return nil
	}
	if c.flags["found"] = true; c.flags["quiet"] {
		return c.out.put(true)
	}
	name, source := "InputStream", ""
	if file != "" {
		name = filepath.Base(file)
	}
	var found []value
	if matched != nil {
		source = matched.source
		found = c.matchObjects(matched, line)
	}
	path := file
	if file == "" {
		path = "InputStream"
	}
	o := newObject("selected line").set("IgnoreCase", !c.flags["casesensitive"]).set("LineNumber", number).
		set("Line", line).set("Filename", name).set("Path", path).set("Pattern", source).set("Matches", found)
	return c.show(o)
}

// matchObjects are the matches in a line, with their groups: the first, or with -AllMatches all.
func (c *call) matchObjects(p *pattern, line string) []value {
	most := 1
	if c.flags["allmatches"] {
		most = -1
	}
	of := func(begin, end int) *object {
		if begin < 0 {
			return newObject("match").set("Success", false).set("Value", "").set("Index", int64(0)).set("Length", int64(0))
		}
		return newObject("match").set("Success", true).set("Value", line[begin:end]).
			set("Index", int64(len(characters(line[:begin])))).set("Length", int64(len(characters(line[begin:end]))))
	}
	var all []value
	for _, at := range p.re.FindAllStringSubmatchIndex(line, most) {
		groups := []value{}
		for i := 0; i+1 < len(at); i += 2 {
			groups = append(groups, of(at[i], at[i+1]))
		}
		all = append(all, of(at[0], at[1]).set("Groups", groups))
	}
	return all
}

// selectedText is a line that Select-String found, as it is shown.
func selectedText(o *object) string {
	line := text(o.props["line"])
	if text(o.props["path"]) == "InputStream" {
		return line
	}
	return text(o.props["filename"]) + ":" + text(o.props["linenumber"]) + ":" + line
}
