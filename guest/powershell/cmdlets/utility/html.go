package utility

import (
	"fmt"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
)

// convertToHTML writes objects as a table of HTML, a line of the page each
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/convertto-html).
func convertToHTML(c *cmdlet.Call) error {
	page := !c.Flags["fragment"]
	var lines []string
	if page {
		lines = htmlHead(c)
	}
	lines = append(lines, texts(c.Values["precontent"])...)
	lines = append(lines, "<table>")

	rows, err := htmlRows(c, strings.EqualFold(c.Text("as"), "list"))
	if err != nil {
		return err
	}
	lines = append(lines, rows...)
	lines = append(lines, "</table>")
	lines = append(lines, texts(c.Values["postcontent"])...)
	if page {
		lines = append(lines, "</body></html>")
	}
	for _, l := range lines {
		if err := c.Out.Put(l); err != nil {
			return err
		}
	}
	return nil
}

// htmlRows returns the rows of a table: one for each object, or as a list one for each of their properties.
func htmlRows(c *cmdlet.Call, list bool) ([]string, error) {
	var lines []string
	var columns []key
	for i, item := range c.Items(cmdlet.ObjectName) {
		begins := columns == nil
		if begins || list {
			var err error
			if columns, err = htmlColumns(c, item); err != nil {
				return nil, err
			}
		}
		if len(columns) == 0 {
			continue
		}
		cells, err := htmlCells(c, columns, item)
		if err != nil {
			return nil, err
		}

		if list && i > 0 {
			lines = append(lines, "<tr><td><hr></td></tr>")
		}
		if list {
			for n, k := range columns {
				lines = append(lines, "<tr><td>"+k.name+":</td><td>"+cells[n]+"</td></tr>")
			}
			continue
		}
		if begins {
			lines = append(lines, "<colgroup>"+strings.Repeat("<col/>", len(columns))+"</colgroup>", htmlRow("th", names(columns)))
		}
		lines = append(lines, htmlRow("td", cells))
	}
	return lines, nil
}

// htmlHead returns what stands before a page's table.
func htmlHead(c *cmdlet.Call) []string {
	const strict, loose = "Strict", "Transitional"
	kind := strict
	if c.Flags["transitional"] {
		kind = loose
	}
	lines := []string{
		fmt.Sprintf(`<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 %s//EN"  "http://www.w3.org/TR/xhtml1/DTD/xhtml1-%s.dtd">`, kind,
			strings.ToLower(kind)),
		`<html xmlns="http://www.w3.org/1999/xhtml">`, "<head>",
	}

	title := "HTML TABLE"
	if v, given := c.Values["title"]; given {
		title = object.Text(v)
	}
	if v, given := c.Values["head"]; given { // it is in place of the title
		lines = append(lines, texts(v)...)
	} else {
		lines = append(lines, "<title>"+title+"</title>")
	}
	if uri := c.Text("cssuri"); uri != "" {
		lines = append(lines, `<link rel="stylesheet" type="text/css" href="`+uri+`" />`)
	}
	return append(append(lines, "</head><body>"), texts(c.Values["body"])...)
}

// texts returns the items of a value as texts.
func texts(v object.Value) []string {
	var all []string
	for item := range object.Each(v) {
		all = append(all, object.Text(item))
	}
	return all
}

// htmlColumns returns the columns of -Property, or all properties of an object.
func htmlColumns(c *cmdlet.Call, item object.Value) ([]key, error) {
	if t, is := item.(*object.Hashtable); is && c.Values["property"] == nil {
		item = t.Object()
	}
	return columns(c, item)
}

// htmlCells returns an object's values for the columns, as HTML has them.
func htmlCells(c *cmdlet.Call, columns []key, item object.Value) ([]string, error) {
	if t, is := item.(*object.Hashtable); is {
		item = t.Object()
	}
	row, err := cells(c, columns, item)
	if err != nil {
		return nil, err
	}
	all := make([]string, len(row))
	for i, v := range row {
		all[i] = htmlText(cellText(v))
	}
	return all, nil
}

// htmlRow returns a row of a table.
func htmlRow(cell string, texts []string) string {
	var b strings.Builder
	b.WriteString("<tr>")
	for _, t := range texts {
		b.WriteString("<" + cell + ">" + t + "</" + cell + ">")
	}
	return b.String() + "</tr>"
}

func names(keys []key) []string {
	var all []string
	for _, k := range keys {
		all = append(all, k.name)
	}
	return all
}

// cellText returns a value as .NET's ToString has it in the culture en-US.
func cellText(v object.Value) string {
	switch v := v.(type) {
	case object.DateTime:
		text, _ := v.Format("G") // a format that is there
		return text
	case []object.Value, object.Range, *object.ArrayList:
		return object.TypeName(v)
	}
	return object.Text(v)
}

// htmlText returns a text as WebUtility.HtmlEncode has it: the upper half of Latin-1 as numbers too.
func htmlText(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '"':
			b.WriteString("&quot;")
		case r == '\'', r >= 160 && r < 256, r > 0xffff:
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// htmlCmdlets returns the cmdlet of HTML.
func htmlCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{{
		Name:  "ConvertTo-Html",
		About: "a page with a table of objects, or a list of their properties",
		Run:   convertToHTML,
		Values: []string{
			"property", "head", "title", "body", cmdlet.ObjectName, "as", "cssuri", "precontent", "postcontent",
		},
		Flags:     []string{"fragment", "transitional"},
		Also:      map[string]string{"cu": "cssuri", "uri": "cssuri"},
		Positions: []string{"property", "head", "title", "body"},
		Takes:     cmdlet.ObjectName,
		Needs:     []string{cmdlet.ObjectName},
		Allowed:   map[string][]string{"as": {"table", "list"}},
	}}
}
