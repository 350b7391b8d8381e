// Package support owns the shape of the support table: one row for each emulated call, field or behaviour, and its
// renderers. It does not own the rows: each lives with the code that it speaks of.
package support

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Level says how much of a thing is supported.
type Level string

// The levels. A row that is Partly or Not must have a Note: how far the support goes, or what is answered instead.
const (
	Supported Level = "supported"
	Partly    Level = "partly"
	Not       Level = "not"
)

// Row is one emulated thing.
type Row struct {
	// Area groups rows, for example "CRI" or "HNS".
	Area string `json:"area"`
	// Name is the thing's own name: an RPC, an export, a field.
	Name string `json:"name"`
	// Level says how much of the thing is supported.
	Level Level `json:"level"`
	// Note says what differs from Windows, or what is answered instead.
	Note string `json:"note,omitempty"`
	// Ref is the URL or name of the document with the expected behaviour.
	Ref string `json:"ref,omitempty"`
	// API names libraries and functions that the row is about, where their names are not enough to find it:
	// "iphlpapi.dll" or "iphlpapi.dll CreateIpForwardEntry2".
	API []string `json:"api,omitempty"`
}

// Check returns an error for the first row that breaks the table's rules: every row has an area, a name unique in it,
// a known level and a reference; a row that is not fully supported has a note.
func Check(rows []Row) error {
	seen := map[string]bool{}
	for _, r := range rows {
		key := r.Area + "/" + r.Name
		switch {
		case r.Area == "" || r.Name == "" || r.Ref == "":
			return fmt.Errorf("check support row %q: area, name and reference are needed", key)
		case seen[key]:
			return fmt.Errorf("check support row %q: the table has it twice", key)
		case r.Level != Supported && r.Level != Partly && r.Level != Not:
			return fmt.Errorf("check support row %q: unknown level %q", key, r.Level)
		case r.Level != Supported && r.Note == "":
			return fmt.Errorf("check support row %q: level %q needs a note", key, r.Level)
		}

		seen[key] = true
	}

	return nil
}

// Text writes rows as an aligned table.
func Text(w io.Writer, rows []Row) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	if _, err := fmt.Fprintln(tw, "AREA\tNAME\tLEVEL\tNOTE"); err != nil {
		return err
	}
	for _, r := range rows {
		if _, err := fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", r.Area, r.Name, r.Level, r.Note); err != nil {
			return err
		}
	}
	return tw.Flush()
}

// JSON writes rows as an indented array.
func JSON(w io.Writer, rows []Row) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(rows)
}

// Markdown writes one table for each area, in the order in which areas first appear.
func Markdown(w io.Writer, rows []Row) error {
	var areas []string
	byArea := map[string][]Row{}
	for _, r := range rows {
		if _, ok := byArea[r.Area]; !ok {
			areas = append(areas, r.Area)
		}
		byArea[r.Area] = append(byArea[r.Area], r)
	}

	var b strings.Builder
	for i, area := range areas {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "## %s\n\n| what | support | note |\n|---|---|---|\n", area)
		for _, r := range byArea[area] {
			fmt.Fprintf(&b, "| [`%s`](%s) | %s | %s |\n", r.Name, r.Ref, r.Level, strings.ReplaceAll(r.Note, "|", `\|`))
		}
	}

	_, err := io.WriteString(w, b.String())
	return err
}
