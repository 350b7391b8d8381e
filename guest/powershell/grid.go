package powershell

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// screenWidth is the width of a table, in characters, as of a console that Windows opens.
	screenWidth = 120
	// gridPause is how long rows are held back, so that the columns can be made wide enough for all of them.
	gridPause = 300 * time.Millisecond
)

// grid is a table of properties, whose columns are as wide as what is in them.
type grid struct {
	names  []string
	rows   [][]value // those that are not shown yet
	begin  time.Time // when the first row came
	widths []int     // nil until the first row is shown
	right  []bool    // columns of numbers
	wrap   bool      // long values go on in the next line; otherwise they are cut
	bare   bool      // no heading
}

// add takes a row. It shows it if the columns are known already, or the first row came some time ago.
func (g *grid) add(f *formatter, row []value) error {
	if len(g.rows) == 0 && g.widths == nil {
		g.begin = time.Now()
	}
	g.rows = append(g.rows, row)
	if g.widths == nil && time.Since(g.begin) < gridPause {
		return nil
	}
	return g.show(f)
}

// show shows the rows that are held back, the first time with the heading.
func (g *grid) show(f *formatter) error {
	var lines []string
	if g.widths == nil {
		g.measure(f.screen())
		lines = append(lines, "")
		if !g.bare {
			dashes := make([]string, len(g.names))
			for i, n := range g.names {
				dashes[i] = strings.Repeat("-", len([]rune(n)))
			}
			lines = append(lines, g.lines(g.names)...)
			lines = append(lines, g.lines(dashes)...)
		}
	}
	for _, row := range g.rows {
		lines = append(lines, g.lines(cellTexts(row))...)
	}
	g.rows = nil
	for _, l := range lines {
		if err := f.line(l); err != nil {
			return err
		}
	}
	return nil
}

// cellTexts are values as cells of a table.
func cellTexts(row []value) []string {
	all := make([]string, len(row))
	for i, v := range row {
		all[i] = entryValue(v)
	}
	return all
}

// measure sets the widths of the columns. The widest ones are made narrower until all fit into the screen.
func (g *grid) measure(screen int) {
	g.widths, g.right = make([]int, len(g.names)), make([]bool, len(g.names))
	for i, n := range g.names {
		g.widths[i] = len([]rune(n))
		if g.bare {
			g.widths[i] = 1
		}
		numbers := 0
		for _, row := range g.rows {
			for line := range strings.Lines(cellTexts(row)[i]) {
				g.widths[i] = max(g.widths[i], len([]rune(strings.TrimRight(line, "\r\n"))))
			}
			switch row[i].(type) {
			case int64, float64:
				numbers++
			}
		}
		g.right[i] = numbers > 0 && numbers == len(g.rows)
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

// lines are the lines of one row: several if values are wrapped.
func (g *grid) lines(cells []string) []string {
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
			if !g.right[i] {
				width = -width
			}
			fmt.Fprintf(&b, "%*s ", width, part)
		}
		all[n] = strings.TrimRight(b.String(), " ")
	}
	return all
}

// cell is a value in a column: wrapped, or its first line, cut.
func (g *grid) cell(s string, width int) []string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if !g.wrap {
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

// display is what Format-Table and Format-List make of objects.
type display struct {
	grid *grid
	list []*object
}

// put shows it.
func (d *display) put(f *formatter) error {
	f.end()
	f.kind = "display"
	for _, o := range d.list {
		if err := f.list(o); err != nil {
			return err
		}
	}
	if d.grid != nil {
		g := *d.grid // it may be shown again
		if err := g.show(f); err != nil {
			return err
		}
	}
	f.end()
	return nil
}

// propertyNames are the names of a value's properties, in the order in which they are shown.
func propertyNames(v value) []string {
	if o, ok := v.(*object); ok {
		return o.names
	}
	var names []string
	if c := classOf(v); c != nil {
		for _, p := range c.props {
			names = append(names, p.name)
		}
	}
	return names
}

// keysFor are the keys of -Property for an object: wild cards stand for its properties.
func (c *call) keysFor(item value) ([]key, error) {
	var all []key
	add := func(k key) {
		if !slices.ContainsFunc(all, func(other key) bool { return lower(other.name) == lower(k.name) }) {
			all = append(all, k)
		}
	}
	for v := range each(c.values["property"]) {
		if s, ok := v.(string); ok && hasWildcard(s) {
			re, err := wildcard(s)
			if err != nil {
				return nil, err
			}
			for _, name := range propertyNames(item) {
				if re.MatchString(name) {
					add(key{name: name, property: name})
				}
			}
			continue
		}
		k, err := c.key(v)
		if err != nil {
			return nil, err
		}
		add(k)
	}
	return all, nil
}

// shown are the objects that Format-Table and Format-List show: of a hash table its entries.
func (c *call) shown() []value {
	var all []value
	for _, v := range c.items(objectName) {
		switch v := v.(type) {
		case *table:
			all = append(all, v.entries()...)
		case *object:
			all = append(all, v)
		default:
			all = append(all, slices.Collect(each(plain(v)))...)
		}
	}
	return all
}

// itself reports whether a value is shown as its text, whatever its properties are.
func itself(v value) bool {
	switch v := v.(type) {
	case *object:
		return false
	case *instance:
		return v.of.shownAsText()
	}
	return true
}

// formatTable makes a table of objects. The columns are those of the first object.
func formatTable(c *call) error {
	var g *grid
	var keys []key
	end := func() error {
		if g == nil {
			return nil
		}
		d := &display{grid: g}
		g = nil
		return c.out.put(d)
	}
	for _, item := range c.shown() {
		whole, err := c.whole(item)
		if err != nil {
			return err
		}
		if whole {
			if err := end(); err != nil {
				return err
			}
			if err := c.out.put(c.wrapped(item)); err != nil {
				return err
			}
			continue
		}
		if g == nil {
			if keys, err = c.columns(item); err != nil {
				return err
			}
			if len(keys) == 0 {
				continue
			}
			g = &grid{wrap: c.flags["wrap"], bare: c.flags["hidetableheaders"]}
			for _, k := range keys {
				g.names = append(g.names, k.name)
			}
		}
		row, err := c.cells(keys, item)
		if err != nil {
			return err
		}
		g.rows = append(g.rows, row)
	}
	return end()
}

// wrapped is an object for a table of its kind, with -Wrap such that nothing of it is cut.
func (c *call) wrapped(item value) value {
	o, ok := item.(*object)
	if !ok || o.kind != "event" || !c.flags["wrap"] {
		return item
	}
	all := *o
	all.kind = wrappedEvent
	return &all
}

// whole reports whether Format-Table passes an object on as it is: without -Property a text, and an object whose kind
// has a table of its own.
func (c *call) whole(item value) (bool, error) {
	if c.values["property"] != nil {
		return false, nil
	}
	o, ok := item.(*object)
	if !ok {
		return itself(item), nil
	}
	_, own := tableRow(o)
	if own && c.flags["hidetableheaders"] {
		return false, thrown("%s : -HideTableHeaders without -Property, for a %s, is not part of Mullion's PowerShell.",
			c.name, o.kind)
	}
	return own, nil
}

// columns are the keys of -Property, or all properties of an object.
func (c *call) columns(item value) ([]key, error) {
	if c.values["property"] != nil {
		return c.keysFor(item)
	}
	var all []key
	for _, name := range propertyNames(item) {
		all = append(all, key{name: name, property: name})
	}
	return all, nil
}

// cells are an object's values for the keys. A property that it does not have is $null.
func (c *call) cells(keys []key, item value) ([]value, error) {
	row := make([]value, len(keys))
	for i, k := range keys {
		named := func(name string) bool { return lower(name) == lower(k.property) }
		has := slices.ContainsFunc(propertyNames(item), named)
		if o, ok := item.(*object); ok {
			has = has || o.has(lower(k.property))
		}
		if k.block == nil && !has {
			continue
		}
		v, err := k.of(c, item)
		if err != nil {
			return nil, err
		}
		row[i] = v
	}
	return row, nil
}

// formatList makes a list of each object's properties.
func formatList(c *call) error {
	d := &display{}
	end := func() error {
		if len(d.list) == 0 {
			return nil
		}
		made := d
		d = &display{}
		return c.out.put(made)
	}
	for _, item := range c.shown() {
		if itself(item) && c.values["property"] == nil {
			if err := end(); err != nil {
				return err
			}
			if err := c.out.put(item); err != nil {
				return err
			}
			continue
		}
		keys, err := c.columns(item)
		if err != nil {
			return err
		}
		row, err := c.cells(keys, item)
		if err != nil {
			return err
		}
		o := newObject("list")
		for i, k := range keys {
			o.set(k.name, row[i])
		}
		d.list = append(d.list, o)
	}
	return end()
}

func formatCmdlets() []cmdlet {
	of := func(name, alias, about string, run func(c *call) error, flags ...string) cmdlet {
		return cmdlet{
			name: name, aliases: []string{alias}, about: about, run: run, flags: flags,
			values: []string{"property", objectName}, positions: []string{"property"}, takes: objectName,
			needs: []string{objectName},
		}
	}
	return []cmdlet{
		of("Format-Table", "ft", "a table of objects, its columns as wide as what is in them", formatTable,
			"autosize", "wrap", "hidetableheaders"),
		of("Format-List", "fl", "objects with one property a line", formatList),
	}
}
