package wmic

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/wmi"
)

// print returns what is found, in the format that is asked for. The properties are in the order of their names, as of
// Windows' program.
func (r request) print(computer string, found []wmi.Object) string {
	names := map[string]string{}
	for _, o := range found {
		for _, name := range o.Names {
			names[strings.ToLower(name)] = name
		}
	}

	columns := r.brief
	if columns == nil {
		for _, key := range slices.Sorted(maps.Keys(names)) {
			columns = append(columns, names[key])
		}
	}

	var rows [][]string
	for _, o := range found {
		var row []string
		for _, name := range columns {
			row = append(row, valueText(o.Value(name), r.format))
		}
		rows = append(rows, row)
	}

	switch r.format {
	case "list":
		return asList(columns, rows)
	case "csv":
		return asCSV(computer, columns, rows)
	}

	return asTable(columns, rows)
}

// asTable has columns that are two wider than what is in them.
func asTable(columns []string, rows [][]string) string {
	var out strings.Builder
	all := append([][]string{columns}, rows...)
	for _, row := range all {
		for i, cell := range row {
			width := 0
			for _, other := range all {
				width = max(width, len([]rune(other[i])))
			}
			out.WriteString(cell + strings.Repeat(" ", width+2-len([]rune(cell))))
		}
		out.WriteString("\r\n")
	}
	return out.String() + "\r\n"
}

func asList(columns []string, rows [][]string) string {
	var out strings.Builder
	for _, row := range rows {
		out.WriteString("\r\n\r\n")
		for i, cell := range row {
			out.WriteString(columns[i] + "=" + cell + "\r\n")
		}
	}
	return out.String() + "\r\n\r\n\r\n"
}

func asCSV(computer string, columns []string, rows [][]string) string {
	var out strings.Builder
	out.WriteString("\r\nNode," + strings.Join(columns, ",") + "\r\n")
	for _, row := range rows {
		out.WriteString(computer + "," + strings.Join(row, ",") + "\r\n")
	}
	return out.String()
}

// valueText returns a value as wmic writes it. A list in a line of a table of commas has semicolons.
func valueText(v any, format string) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		return strings.ToUpper(fmt.Sprint(v))
	case time.Time:
		return wmi.TimeText(v)
	case []any:
		var items []string
		for _, item := range v {
			text := valueText(item, format)
			if _, is := item.(string); is && format != "csv" {
				text = `"` + text + `"`
			}
			items = append(items, text)
		}

		if format == "csv" {
			return "{" + strings.Join(items, ";") + "}"
		}
		if format == "list" {
			return "{" + strings.Join(items, ",") + "}"
		}
		return "{" + strings.Join(items, ", ") + "}"
	}

	return fmt.Sprint(v)
}
