package utility

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
)

// delimiter returns the parameter -Delimiter, a comma if it is not given.
func delimiter(c *cmdlet.Call) (rune, error) {
	v, given := c.Values["delimiter"]
	if !given {
		return ',', nil
	}
	if r := []rune(object.Text(v)); len(r) == 1 && r[0] != '"' && r[0] != '\n' && r[0] != '\r' {
		return r[0], nil
	}
	return 0, object.Thrown("%s : -Delimiter %q, which is no single character, is not part of Mullion's PowerShell.",
		c.Name, object.Text(v))
}

// csvLines returns objects as lines of CSV: as Windows PowerShell writes them, each value in quotation marks.
func csvLines(c *cmdlet.Call, head bool) ([]string, error) {
	end, err := delimiter(c)
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
	for _, item := range c.Items(cmdlet.ObjectName) {
		o, ok := item.(*object.Object)
		if !ok {
			return nil, object.Thrown("%s : an object of type %s is not part of Mullion's PowerShell.",
				c.Name, object.TypeName(item))
		}

		if names == nil {
			names = o.Names
			if head && !c.Flags["notypeinformation"] {
				if strings.HasPrefix(object.TypeName(o), "a ") { // a kind whose type nobody wrote down
					return nil, object.Thrown("%s : the name of the type of %s is not part of Mullion's PowerShell; "+
						"-NoTypeInformation leaves it out.", c.Name, object.TypeName(o))
				}
				lines = append(lines, "#TYPE "+object.TypeName(o))
			}

			if head {
				lines = append(lines, joined(append([]string{}, names...)))
			}
		}

		var words []string
		for _, name := range names {
			words = append(words, cellText(o.Value(name)))
		}

		lines = append(lines, joined(words))
	}

	return lines, nil
}

func convertToCSV(c *cmdlet.Call) error {
	lines, err := csvLines(c, true)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if err := c.Out.Put(l); err != nil {
			return err
		}
	}
	return nil
}

func exportCSV(c *cmdlet.Call) error {
	if err := c.KnownPath(c.Text(cmdlet.PathName)); err != nil {
		return err
	}

	path := c.State.Path(c.Text(cmdlet.PathName))
	info, err := os.Stat(path)
	appends := c.Flags["append"]
	lines, err2 := csvLines(c, !appends || err != nil || info.Size() == 0)
	if err2 != nil {
		return err2
	}

	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l + c.State.Newline)
	}

	how := os.O_TRUNC
	if appends {
		how = os.O_APPEND
	}
	if err := provider.WriteFile(path, b.String(), how, c.Flags["force"]); err != nil {
		return c.Fail(provider.Because(c.Text(cmdlet.PathName), err))
	}
	return nil
}

// putCSV outputs an object for each line of a text of CSV; the first line, or -Header, names the properties.
func putCSV(c *cmdlet.Call, source string) error {
	end, err := delimiter(c)
	if err != nil {
		return err
	}
	if strings.HasPrefix(source, "#TYPE") {
		_, source, _ = strings.Cut(source, "\n")
	}

	r := csv.NewReader(strings.NewReader(source))
	r.Comma = end
	r.LazyQuotes = true
	r.FieldsPerRecord = -1

	var names []string
	for v := range object.Each(c.Values["header"]) {
		names = append(names, object.Text(v))
	}

	for {
		words, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return object.Thrown("%s : %v", c.Name, err)
		case names == nil:
			names = words
			continue
		}

		o := object.New(object.Custom)
		for i, name := range names {
			if i < len(words) {
				o.Put(name, words[i])
			} else {
				o.Put(name, nil)
			}
		}

		if err := c.Output(o); err != nil {
			return err
		}
	}
}

func convertFromCSV(c *cmdlet.Call) error {
	var b strings.Builder
	for _, item := range c.Items(cmdlet.ObjectName) {
		b.WriteString(strings.TrimRight(object.Text(item), "\r\n") + "\n")
	}
	return putCSV(c, b.String())
}

func importCSV(c *cmdlet.Call) error {
	return c.ForEach(func(t cmdlet.Target) error {
		data, err := os.ReadFile(t.Full)
		if err != nil {
			return err
		}
		return putCSV(c, provider.FileText(data))
	})
}

func textCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "ConvertTo-Csv",
			About:     "lines of objects with properties: of objects of Windows those that are shown",
			Run:       convertToCSV,
			Values:    []string{cmdlet.ObjectName, "delimiter"},
			Flags:     []string{"notypeinformation"},
			Positions: []string{cmdlet.ObjectName, "delimiter"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{cmdlet.ObjectName},
		},
		{
			Name:      "ConvertFrom-Csv",
			About:     "objects of lines",
			Run:       convertFromCSV,
			Values:    []string{cmdlet.ObjectName, "delimiter", "header"},
			Positions: []string{cmdlet.ObjectName, "delimiter"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{cmdlet.ObjectName},
		},
		{
			Name:      "Export-Csv",
			Aliases:   []string{"epcsv"},
			About:     "a file of objects with properties, of objects of Windows those that are shown, UTF-8",
			Run:       exportCSV,
			Values:    []string{cmdlet.PathName, cmdlet.ObjectName, "delimiter"},
			Flags:     []string{"notypeinformation", "append", "force"},
			Positions: []string{cmdlet.PathName, "delimiter"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{cmdlet.PathName, cmdlet.ObjectName},
		},
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "Import-Csv",
			Wild:      true,
			Aliases:   []string{"ipcsv"},
			About:     "objects of a file",
			Run:       importCSV,
			Values:    []string{"delimiter", "header"},
			Positions: []string{"delimiter"},
			Needs:     []string{cmdlet.PathName},
		}),
		{
			Name:      "Select-String",
			Wild:      true,
			Aliases:   []string{"sls"},
			About:     "the lines of texts or files that match",
			Run:       selectString,
			Values:    []string{"pattern", cmdlet.PathName, cmdlet.LiteralName, cmdlet.ObjectName, "context"},
			Flags:     []string{"simplematch", "casesensitive", "quiet", "notmatch", "allmatches", "list"},
			Positions: []string{"pattern", cmdlet.PathName},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"pattern"},
		},
		{
			Name:      "Get-Date",
			About:     "now, or a time of a text, perhaps in a format",
			Run:       getDate,
			Values:    append([]string{"date", "format", "uformat"}, dateParts()...),
			Positions: []string{"date"},
			Takes:     "date",
		},
	}
}
