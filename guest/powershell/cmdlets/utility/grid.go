package utility

import (
	"errors"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
)

// keysFor returns the keys of -Property for an object: wild cards stand for its properties.
func keysFor(c *cmdlet.Call, item object.Value) ([]key, error) {
	var all []key
	add := func(k key) {
		same := func(other key) bool { return strings.EqualFold(other.name, k.name) }
		if !slices.ContainsFunc(all, same) {
			all = append(all, k)
		}
	}

	for v := range object.Each(c.Values["property"]) {
		if s, ok := v.(string); ok && provider.HasWildcard(s) {
			re, err := pattern.Wildcard(s)
			if err != nil {
				return nil, err
			}
			for _, name := range object.PropertyNames(item) {
				if re.MatchString(name) {
					add(key{name: name, property: name})
				}
			}

			continue
		}

		k, err := sortKey(c, v)
		if err != nil {
			return nil, err
		}
		add(k)
	}

	return all, nil
}

// shown returns the objects that Format-Table and Format-List show: of a hash table its entries.
func shown(c *cmdlet.Call) []object.Value {
	var all []object.Value
	for _, v := range c.Items(cmdlet.ObjectName) {
		switch v := v.(type) {
		case *object.Hashtable:
			all = append(all, v.Entries()...)
		case *object.Object:
			all = append(all, v)
		default:
			all = append(all, slices.Collect(object.Each(object.Plain(v)))...)
		}
	}
	return all
}

// formatTable makes a table of objects. The columns are those of the first object.
func formatTable(c *cmdlet.Call) error {
	var g *format.Grid
	var keys []key
	end := func() error {
		if g == nil {
			return nil
		}
		d := &format.Display{Grid: g}
		g = nil
		return c.Out.Put(d)
	}

	grouped := grouping(c)
	for _, item := range shown(c) {
		heading, differs, err := grouped(item)
		if err != nil {
			return err
		}
		if differs {
			if err := errors.Join(end(), c.Out.Put(&format.Display{Heading: heading})); err != nil {
				return err
			}
		}

		whole, err := hasOwnTable(c, item)
		if err != nil {
			return err
		}

		if whole {
			if err := end(); err != nil {
				return err
			}
			if err := c.Out.Put(wrapped(c, item)); err != nil {
				return err
			}
			continue
		}

		if g == nil {
			if keys, err = columns(c, item); err != nil {
				return err
			}
			if len(keys) == 0 {
				continue
			}

			g = &format.Grid{Wrap: c.Flags["wrap"], Bare: c.Flags["hidetableheaders"]}
			for _, k := range keys {
				g.Names, g.Columns = append(g.Names, k.name), append(g.Columns, k.column)
			}
		}

		row, err := cells(c, keys, item)
		if err != nil {
			return err
		}
		g.Rows = append(g.Rows, row)
	}

	return end()
}

// wrapped returns an object for a table of its kind, with -Wrap such that nothing of it is cut.
func wrapped(c *cmdlet.Call, item object.Value) object.Value {
	o, ok := item.(*object.Object)
	if !ok || o.Kind != "event" || !c.Flags["wrap"] {
		return item
	}
	all := *o
	all.Kind = format.WrappedEvent
	return &all
}

// hasOwnTable reports whether Format-Table passes an object on as it is: without -Property a text, and an object whose
// kind has a table of its own.
func hasOwnTable(c *cmdlet.Call, item object.Value) (bool, error) {
	if c.Values["property"] != nil {
		return false, nil
	}
	o, ok := item.(*object.Object)
	if !ok {
		return format.Itself(item), nil
	}
	_, own := format.TableRow(o)
	if own && c.Flags["hidetableheaders"] {
		return false, object.Thrown("%s : -HideTableHeaders without -Property, for a %s, is not part of Mullion's PowerShell.",
			c.Name, o.Kind)
	}
	return own, nil
}

// columns returns the keys of -Property, or all properties of an object.
func columns(c *cmdlet.Call, item object.Value) ([]key, error) {
	if c.Values["property"] != nil {
		return keysFor(c, item)
	}
	names := object.PropertyNames(item)
	if o, is := item.(*object.Object); is && o.View != nil {
		names = o.View.Names
	}
	var all []key
	for _, name := range names {
		all = append(all, key{name: name, property: name})
	}
	return all, nil
}

// grouping returns what tells for each object whether it begins a group of -GroupBy, and the group's heading.
func grouping(c *cmdlet.Call) func(item object.Value) (heading []string, differs bool, err error) {
	by, given := c.Values["groupby"]
	first, last := true, ""
	return func(item object.Value) ([]string, bool, error) {
		if !given {
			return nil, false, nil
		}

		k, err := sortKey(c, by)
		if err != nil {
			return nil, false, err
		}
		row, err := cells(c, []key{k}, item)
		if err != nil {
			return nil, false, err
		}

		text := object.Text(row[0])
		if !first && text == last {
			return nil, false, nil
		}
		first, last = false, text
		return []string{"", "   " + k.name + ": " + text}, true, nil
	}
}

// cells returns an object's values for the keys. A property that it does not have is $null.
func cells(c *cmdlet.Call, keys []key, item object.Value) ([]object.Value, error) {
	row := make([]object.Value, len(keys))
	for i, k := range keys {
		named := func(name string) bool { return strings.EqualFold(name, k.property) }
		has := slices.ContainsFunc(object.PropertyNames(item), named)
		if o, ok := item.(*object.Object); ok {
			has = has || o.Has(strings.ToLower(k.property))
		}
		if k.block == nil && !has {
			continue
		}

		v, err := k.of(c, item)
		if err != nil {
			return nil, err
		}
		if k.shape != "" && v != nil {
			if v, err = object.Composite("{0:"+k.shape+"}", []object.Value{v}); err != nil {
				return nil, err
			}
		}
		row[i] = v
	}

	return row, nil
}

// formatList makes a list of each object's properties.
func formatList(c *cmdlet.Call) error {
	d := &format.Display{}
	end := func() error {
		if len(d.List) == 0 {
			return nil
		}
		made := d
		d = &format.Display{}
		return c.Out.Put(made)
	}

	grouped := grouping(c)
	for _, item := range shown(c) {
		heading, differs, err := grouped(item)
		if err != nil {
			return err
		}
		if differs {
			if err := errors.Join(end(), c.Out.Put(&format.Display{Heading: heading})); err != nil {
				return err
			}
		}

		if format.Itself(item) && c.Values["property"] == nil {
			if err := end(); err != nil {
				return err
			}
			if err := c.Out.Put(item); err != nil {
				return err
			}
			continue
		}

		o, err := listed(c, item)
		if err != nil {
			return err
		}
		d.List = append(d.List, o)
	}

	return end()
}

// listed returns the properties of an object that a list shows of it.
func listed(c *cmdlet.Call, item object.Value) (*object.Object, error) {
	keys, err := columns(c, item)
	if err != nil {
		return nil, err
	}
	row, err := cells(c, keys, item)
	if err != nil {
		return nil, err
	}

	o := object.New("list")
	if from, is := item.(*object.Object); is && from.View != nil && c.Values["property"] == nil {
		o.View = from.View
	}
	for i, k := range keys {
		o.Set(k.name, row[i])
	}
	return o, nil
}

func formatCmdlets() []cmdlet.Cmdlet {
	of := func(name, alias, about string, run func(c *cmdlet.Call) error, flags ...string) cmdlet.Cmdlet {
		return cmdlet.Cmdlet{
			Name:      name,
			Aliases:   []string{alias},
			About:     about,
			Run:       run,
			Flags:     flags,
			Values:    []string{"property", "groupby", cmdlet.ObjectName},
			Positions: []string{"property"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{cmdlet.ObjectName},
		}
	}

	return []cmdlet.Cmdlet{
		of("Format-Table", "ft", "a table of objects, its columns as wide as what is in them", formatTable,
			"autosize", "wrap", "hidetableheaders", "force"),
		of("Format-List", "fl", "objects with one property a line", formatList, "force"),
	}
}
