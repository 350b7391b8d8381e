package powershell

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"strings"
)

// delimiter is the parameter -Delimiter, a comma if it is not given.
func (c *call) delimiter() (rune, error) {
	v, given := c.values["delimiter"]
	if !given {
		return ',', nil
	}
	if r := []rune(text(v)); len(r) == 1 && r[0] != '"' && r[0] != '\n' && r[0] != '\r' {
		return r[0], nil
	}
	return 0, thrown("%s : -Delimiter %q, which is no single character, is not part of Mullion's PowerShell.", c.name,
		text(v))
}

// csvLines are objects as lines of CSV: as Windows PowerShell writes them, each value in quotation marks.
func (c *call) csvLines(head bool) ([]string, error) {
	end, err := c.delimiter()
	if err != nil {
		return nil, err
	}
	joined := func(words []string) string {
		for i, w := range words {
			words[i] = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
		}
		return strings.Join(words, string(end))
	}
	var lines, names []string
	for _, item := range c.items(objectName) {
		o, ok := item.(*object)
		if !ok {
			return nil, thrown("%s : an object of type %s is not part of Mullion's PowerShell.", c.name, typeName(item))
		}
		if names == nil {
			names = o.names
			if head && !c.flags["notypeinformation"] {
				if o.kind != custom {
					return nil, thrown("%s : the name of the type of %s is not part of Mullion's PowerShell; "+
						"-NoTypeInformation leaves it out.", c.name, typeName(o))
				}
				lines = append(lines, "#TYPE "+typeName(o))
			}
			if head {
				lines = append(lines, joined(append([]string{}, names...)))
			}
		}
		var words []string
		for _, name := range names {
			v := o.props[lower(name)]
			word := text(v)
			if m, ok := v.(moment); ok {
				word, _ = m.format("G") // a format that is there
			} else if _, several := v.([]value); several {
				word = "System.Object[]"
			}
			words = append(words, word)
		}
		lines = append(lines, joined(words))
	}
	return lines, nil
}

func convertToCSV(c *call) error {
	lines, err := c.csvLines(true)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if err := c.out.put(l); err != nil {
			return err
		}
	}
	return nil
}

func exportCSV(c *call) error {
	if err := c.knownPath(c.text(pathName)); err != nil {
		return err
	}
	path := c.f.in.path(c.text(pathName))
	info, err := os.Stat(path)
	appends := c.flags["append"]
	lines, err2 := c.csvLines(!appends || err != nil || info.Size() == 0)
	if err2 != nil {
		return err2
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l + c.f.in.session.Newline)
	}
	how := os.O_TRUNC
	if appends {
		how = os.O_APPEND
	}
	if err := writeFile(path, b.String(), how, c.flags["force"]); err != nil {
		return c.fail(because(c.text(pathName), err))
	}
	return nil
}

// putCSV outputs an object for each line of a text of CSV; the first line, or -Header, names the properties.
func (c *call) putCSV(source string) error {
	end, err := c.delimiter()
	if err != nil {
		return err
	}
	if strings.HasPrefix(source, "#TYPE") {
		_, source, _ = strings.Cut(source, "\n")
	}
	r := csv.NewReader(strings.NewReader(source))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = end, true, -1
	var names []string
	for v := range each(c.values["header"]) {
		names = append(names, text(v))
	}
	for {
		words, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return thrown("%s : %v", c.name, err)
		case names == nil:
			names = words
			continue
		}
		o := newObject(custom)
		for i, name := range names {
			if i < len(words) {
				o.put(name, words[i])
			} else {
				o.put(name, nil)
			}
		}
		if err := c.show(o); err != nil {
			return err
		}
	}
}

func convertFromCSV(c *call) error {
	var b strings.Builder
	for _, item := range c.items(objectName) {
		b.WriteString(strings.TrimRight(text(item), "\r\n") + "\n")
	}
	return c.putCSV(b.String())
}

func importCSV(c *call) error {
	return c.forEach(func(t target) error {
		data, err := os.ReadFile(t.full)
		if err != nil {
			return err
		}
		return c.putCSV(strings.TrimPrefix(string(data), "\uFEFF"))
	})
}

func textCmdlets() []cmdlet {
	return []cmdlet{
		{
			name:      "ConvertTo-Csv",
			about:     "lines of objects with properties",
			run:       convertToCSV,
			values:    []string{objectName, "delimiter"},
			flags:     []string{"notypeinformation"},
			positions: []string{objectName, "delimiter"},
			takes:     objectName,
			needs:     []string{objectName},
		},
		{
			name:      "ConvertFrom-Csv",
			about:     "objects of lines",
			run:       convertFromCSV,
			values:    []string{objectName, "delimiter", "header"},
			positions: []string{objectName, "delimiter"},
			takes:     objectName,
			needs:     []string{objectName},
		},
		{
			name:      "Export-Csv",
			aliases:   []string{"epcsv"},
			about:     "a file of objects with properties, UTF-8",
			run:       exportCSV,
			values:    []string{pathName, objectName, "delimiter"},
			flags:     []string{"notypeinformation", "append", "force"},
			positions: []string{pathName, "delimiter"},
			takes:     objectName,
			needs:     []string{pathName, objectName},
		},
		ofPath(cmdlet{
			name:      "Import-Csv",
			aliases:   []string{"ipcsv"},
			about:     "objects of a file",
			run:       importCSV,
			values:    []string{"delimiter", "header"},
			positions: []string{"delimiter"},
			needs:     []string{pathName},
		}),
		{
			name:      "Select-String",
			aliases:   []string{"sls"},
			about:     "the lines of texts or files that match",
			run:       selectString,
			values:    []string{"pattern", pathName, literalName, objectName},
			flags:     []string{"simplematch", "casesensitive", "quiet", "notmatch", "allmatches"},
			positions: []string{"pattern", pathName},
			takes:     objectName,
			needs:     []string{"pattern"},
		},
		{
			name:      "Get-Date",
			about:     "now, or a time of a text, perhaps in a format",
			run:       getDate,
			values:    []string{"date", "format"},
			positions: []string{"date"},
			takes:     "date",
		},
	}
}
