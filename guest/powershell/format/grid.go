package format

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/object"
)

const (
	// screenWidth is the width of a table, in characters, as of a console that Windows opens.
	screenWidth = 120
	// gridPause is how long rows are held back, so that the columns can be made wide enough for all of them.
	gridPause = 300 * time.Millisecond
)

// Grid is a table of properties, whose columns are as wide as what is in them.
type Grid struct {
	Names  []string
	Rows   [][]object.Value // those that are not shown yet
	begin  time.Time        // when the first row came
	widths []int            // nil until the first row is shown
	right  []bool           // columns of numbers
	Wrap   bool             // long values go on in the next line; otherwise they are cut
	Bare   bool             // no heading
	// Columns are how the columns are shown, as far as somebody has said it; nil: nobody has.
	Columns []Column
}

// Side is where the cells of a column stand in it.
type Side string

// The sides.
const (
	Left   Side = "left"
	Center Side = "center"
	Right  Side = "right"
)

// Column is how a column is shown. What is not said follows from its values.
type Column struct {
	Side  Side
	Width int
}

// column returns what is said of a column.
func (g *Grid) column(i int) Column {
	if i < len(g.Columns) {
		return g.Columns[i]
	}
	return Column{}
}

// add takes a row. It shows it if the columns are known already, or the first row came some time ago.
func (g *Grid) add(f *Formatter, row []object.Value) error {
	if len(g.Rows) == 0 && g.widths == nil {
		g.begin = time.Now()
	}
	g.Rows = append(g.Rows, row)
	if g.widths == nil && time.Since(g.begin) < gridPause {
		return nil
	}
	return g.show(f)
}

// show shows the rows that are held back, the first time with the heading.
func (g *Grid) show(f *Formatter) error {
	var lines []string
	if g.widths == nil {
		g.measure(f.screen())
		lines = append(lines, "")
		if !g.Bare {
			dashes := make([]string, len(g.Names))
			for i, n := range g.Names {
				dashes[i] = strings.Repeat("-", len([]rune(n)))
			}
			lines = append(lines, g.lines(g.Names)...)
			lines = append(lines, g.lines(dashes)...)
		}
	}

	for _, row := range g.Rows {
		lines = append(lines, g.lines(cellTexts(row))...)
	}

	g.Rows = nil
	for _, l := range lines {
		if err := f.line(l); err != nil {
			return err
		}
	}

	return nil
}

// cellTexts returns values as cells of a table.
func cellTexts(row []object.Value) []string {
	all := make([]string, len(row))
	for i, v := range row {
		all[i] = entryValue(v)
	}
	return all
}

// measure sets the widths of the columns. The widest ones are made narrower until all fit into the screen.
func (g *Grid) measure(screen int) {
	g.widths, g.right = make([]int, len(g.Names)), make([]bool, len(g.Names))
	for i, n := range g.Names {
		g.widths[i] = len([]rune(n))
		if g.Bare {
			g.widths[i] = 1
		}

		numbers := 0
		for _, row := range g.Rows {
			for line := range strings.Lines(cellTexts(row)[i]) {
				g.widths[i] = max(g.widths[i], len([]rune(strings.TrimRight(line, "\r\n"))))
			}
			switch row[i].(type) {
			case int64, float64:
				numbers++
			}
		}

		g.right[i] = numbers > 0 && numbers == len(g.Rows)
		said := g.column(i)
		g.right[i] = said.Side == Right || (g.right[i] && said.Side == "")
		if said.Width > 0 {
			g.widths[i] = said.Width
		}
	}

	for total := 0; ; {
		total = len(g.widths) - 1
		for _, w := range g.widths {
			total += w
		}

		widest := slices.Index(g.widths, slices.Max(g.widths))
		if total <= screen || g.widths[widest] <= 4 {
			return
		}
		g.widths[widest]--
	}
}

// lines returns the lines of one row: several if values are wrapped.
func (g *Grid) lines(cells []string) []string {
	parts := make([][]string, len(cells))
	height := 1
	for i, c := range cells {
		parts[i] = g.cell(c, g.widths[i])
		height = max(height, len(parts[i]))
	}

	all := make([]string, height)
	for n := range all {
		var b strings.Builder
		for i := range cells {
			part := ""
			if n < len(parts[i]) {
				part = parts[i][n]
			}
			width := g.widths[i]
			if g.column(i).Side == Center {
				part = strings.Repeat(" ", max(0, (width-len([]rune(part)))/2)) + part
			}
			if !g.right[i] {
				width = -width
			}
			fmt.Fprintf(&b, "%*s ", width, part)
		}

		all[n] = strings.TrimRight(b.String(), " ")
	}

	return all
}

// cell returns a value in a column: wrapped, or its first line, cut.
func (g *Grid) cell(s string, width int) []string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if !g.Wrap {
		if first, rest, more := strings.Cut(s, "\n"); more && rest != "" {
			s = first + "..."
		}
		return []string{shortened(strings.TrimRight(s, "\n"), width)}
	}

	var parts []string
	for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		r := []rune(line)
		for len(r) > width {
			parts, r = append(parts, string(r[:width])), r[width:]
		}
		parts = append(parts, string(r))
	}

	return parts
}

// Display is what Format-Table and Format-List make of objects.
type Display struct {
	Grid  *Grid
	List  []*object.Object
	Lines []string // as they are
	// Heading is that of a group. What else is shown after it begins with a blank line.
	Heading []string
}

// put shows it.
func (d *Display) put(f *Formatter) error {
	f.End()
	for _, l := range d.Heading {
		if err := f.line(l); err != nil {
			return err
		}
	}
	if len(d.Heading) > 0 {
		return nil
	}

	f.kind = "display"
	for _, l := range d.Lines {
		if err := f.line(l); err != nil {
			return err
		}
	}

	for _, o := range d.List {
		if err := f.list(o); err != nil {
			return err
		}
	}

	if d.Grid != nil {
		g := *d.Grid // it may be shown again
		if err := g.show(f); err != nil {
			return err
		}
	}
	f.End()
	return nil
}

// Itself reports whether a value is shown as its text, whatever its properties are.
func Itself(v object.Value) bool {
	switch v := v.(type) {
	case *object.Object:
		return false
	case *object.Instance:
		return v.Of.ShownAsText()
	}
	return true
}
