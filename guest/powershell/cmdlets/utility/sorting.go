package utility

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/operator"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/words"
)

// key is what Sort-Object, Group-Object and Select-Object take of an object: a property, or the value of a block.
type key struct {
	name       string // of the new property
	property   string // the one that it is taken from, or
	block      *object.ScriptBlock
	descending bool
	column     format.Column
	shape      string // a format of .NET for what is shown
}

// keys reads the parameter -Property: names, blocks, and hash tables with Name, Expression and Descending.
func keys(c *cmdlet.Call) ([]key, error) {
	var all []key
	for v := range object.Each(c.Values["property"]) {
		k, err := sortKey(c, v)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// sortKey reads one value of -Property.
func sortKey(c *cmdlet.Call, v object.Value) (key, error) {
	k := key{descending: c.Flags["descending"]}
	switch v := v.(type) {
	case *object.ScriptBlock:
		k.name, k.block = strings.TrimSpace(v.Words), v
	case *object.Hashtable:
		if err := k.read(v, shownKeys()[c.Name]); err != nil {
			return k, err
		}

	default:
		if provider.HasWildcard(object.Text(v)) {
			return k, object.Thrown("Wild cards in -property of %s are not part of Mullion's PowerShell.", c.Name)
		}
		k.name, k.property = object.Text(v), object.Text(v)
	}

	return k, nil
}

// shownKeys are the keys of a hash table that say how a value is shown, by the cmdlets that have them.
func shownKeys() map[string][]string {
	return map[string][]string{
		"Format-Table": {"align", "alignment", "width", "formatstring"},
		"Format-List":  {"formatstring"},
	}
}

// read reads a key of a hash table. The names in it may be shortened, but for those that say how a value is shown.
func (k *key) read(t *object.Hashtable, shows []string) error {
	for _, name := range t.Keys {
		v, low := t.Get(name), strings.ToLower(object.Text(name))
		switch {
		case low == "":
		case strings.HasPrefix("expression", low):
			k.block, _ = v.(*object.ScriptBlock)
			k.property = object.Text(v)
			continue
		case strings.HasPrefix("name", low), strings.HasPrefix("label", low):
			k.name = object.Text(v)
			continue

		case strings.HasPrefix("descending", low):
			k.descending = object.Truth(v)
			continue
		case slices.Contains(shows, low):
			if err := k.shown(low, v); err != nil {
				return err
			}
			continue
		case strings.HasPrefix("ascending", low):
			k.descending = !object.Truth(v)
			continue
		}

		return object.Thrown("%q in a property's hash table is not part of Mullion's PowerShell.", object.Text(name))
	}

	if k.name == "" {
		k.name = strings.TrimSpace(k.property)
	}
	return nil
}

// shown reads how a column of a table is shown: at which side, how wide, and in which format.
func (k *key) shown(name string, v object.Value) error {
	switch name {
	case "formatstring":
		k.shape = object.Text(v)
		return nil
	case "width":
		n, err := object.Integer(v)
		if err != nil || n < 1 {
			return object.Thrown("The value of the key Width is %q, which is no width of a column.", object.Text(v))
		}
		k.column.Width = int(min(n, 1<<10))
		return nil
	}
	side := format.Side(strings.ToLower(object.Text(v)))
	if side != format.Left && side != format.Right && side != format.Center {
		return object.Thrown("The value of the key Alignment is %q; it is left, center or right.", object.Text(v))
	}
	k.column.Side = side
	return nil
}

// of returns what a key takes of an object. An object without the property has $null there.
func (k key) of(c *cmdlet.Call, item object.Value) (object.Value, error) {
	if k.block == nil {
		if o, ok := item.(*object.Object); ok && !o.Has(strings.ToLower(k.property)) && o.Kind == object.Custom {
			return nil, nil
		}
		return object.Property(item, strings.ToLower(k.property))
	}
	var got []object.Value
	err := c.WithBlock(k.block, item, object.Collect(&got))
	return object.One(got), err
}

// row is an object and what its keys take of it.
type row struct {
	item object.Value
	keys []object.Value
}

// rows returns the objects of the input with their keys; without keys each is its own.
func rows(c *cmdlet.Call, keys []key) ([]row, error) {
	var all []row
	for _, item := range c.Items(cmdlet.ObjectName) {
		r := row{item: item, keys: []object.Value{item}}
		if len(keys) > 0 {
			r.keys = nil
		}

		for _, k := range keys {
			v, err := k.of(c, item)
			if err != nil {
				return nil, err
			}
			r.keys = append(r.keys, v)
		}

		all = append(all, r)
	}

	return all, nil
}

// sorts compares two values as Sort-Object does: what cannot be compared is compared as text.
func sorts(a, b object.Value, exact bool) int {
	_, textual := a.(string)
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	case !textual:
		if n, err := operator.Order("-lt", a, b); err == nil {
			return n
		}
	}

	x, y := object.Text(a), object.Text(b)
	if !exact {
		x, y = strings.ToLower(x), strings.ToLower(y)
	}
	return strings.Compare(x, y)
}

func sortObject(c *cmdlet.Call) error {
	keys, err := keys(c)
	if err != nil {
		return err
	}
	all, err := rows(c, keys)
	if err != nil {
		return err
	}

	exact := c.Flags["casesensitive"]
	compare := func(a, b row) int {
		for i := range a.keys {
			n := sorts(a.keys[i], b.keys[i], exact)
			if (i < len(keys) && keys[i].descending) || (len(keys) == 0 && c.Flags["descending"]) {
				n = -n
			}
			if n != 0 {
				return n
			}
		}

		return 0
	}
	slices.SortStableFunc(all, compare)
	if c.Flags["unique"] {
		all = slices.CompactFunc(all, func(a, b row) bool { return compare(a, b) == 0 })
	}

	for _, r := range all {
		if err := c.Out.Put(r.item); err != nil {
			return err
		}
	}

	return nil
}

func groupObject(c *cmdlet.Call) error {
	keys, err := keys(c)
	if err != nil {
		return err
	}
	all, err := rows(c, keys)
	if err != nil {
		return err
	}

	groups := object.NewTable(true)
	groups.Exact = c.Flags["casesensitive"]
	var found [][]row
	for _, r := range all {
		var names []string
		for _, v := range r.keys {
			names = append(names, object.Text(v))
		}

		name := strings.Join(names, ", ")
		if !groups.Has(name) {
			groups.Set(name, int64(len(found)))
			found = append(found, nil)
		}
		n, _ := groups.Get(name).(int64)
		found[n] = append(found[n], r)
	}

	byName := object.NewTable(false)
	for i, name := range groups.Keys {
		var items []object.Value
		for _, r := range found[i] {
			items = append(items, r.item)
		}

		if c.Flags["ashashtable"] {
			byName.Set(groupKey(c, found[i][0], name), items)
			continue
		}

		o := object.New("group").Set("Count", int64(len(items))).Set("Name", name)
		if c.Flags["noelement"] {
			o.Kind = "group without elements"
		} else {
			o.Set("Group", items)
		}

		o.Props["values"] = found[i][0].keys
		if err := c.Out.Put(o); err != nil {
			return err
		}
	}

	if c.Flags["ashashtable"] {
		return c.Out.Put(byName)
	}
	return nil
}

// groupKey returns the key of a group in a hash table: its value, or with -AsString its text.
func groupKey(c *cmdlet.Call, r row, name object.Value) object.Value {
	if c.Flags["asstring"] || len(r.keys) != 1 || r.keys[0] == nil {
		return name
	}
	return r.keys[0]
}

// measureObject counts its input, and adds up or compares a property of it.
func measureObject(c *cmdlet.Call) error {
	for _, name := range []string{"line", "word", "character"} {
		if c.Flags[name] {
			return measureText(c)
		}
	}

	names := slices.Collect(object.Each(c.Values["property"]))
	if len(names) == 0 {
		names = []object.Value{nil}
	}

	for _, name := range names {
		o, err := measured(c, name)
		if err != nil {
			return err
		}
		if err := c.Out.Put(o); err != nil {
			return err
		}
	}

	return nil
}

// measured returns what Measure-Object says of one property, or of the objects themselves.
func measured(c *cmdlet.Call, name object.Value) (*object.Object, error) {
	all, sum, err := measurable(c, name)
	if err != nil {
		return nil, err
	}

	count := int64(len(all))
	var least, most object.Value
	for _, v := range all {
		if least == nil || sorts(v, least, false) < 0 {
			least = v
		}
		if most == nil || sorts(v, most, false) > 0 {
			most = v
		}
	}

	shown := func(flag string, v object.Value) object.Value {
		if !c.Flags[flag] || count == 0 {
			return nil
		}
		return v
	}

	average := object.Value(nil)
	if count > 0 {
		average = sum / float64(count)
	}
	return object.New("measure").Set("Count", count).Set("Average", shown("average", average)).
		Set("Sum", shown("sum", sum)).Set("Maximum", shown("maximum", most)).Set("Minimum", shown("minimum", least)).
		Set("Property", name), nil
}

// measurable returns the values of a property, and their sum if one is asked for. Then what is no number is left out.
func measurable(c *cmdlet.Call, name object.Value) (all []object.Value, sum float64, err error) {
	for _, item := range c.Items(cmdlet.ObjectName) {
		v := item
		if name != nil {
			if v, err = (key{property: object.Text(name)}).of(c, item); err != nil {
				return nil, 0, err
			}
		}
		if v == nil {
			continue
		}

		if c.Flags["sum"] || c.Flags["average"] {
			n, err := object.Floating(v)
			if err != nil {
				if err := c.Fail(words.Errorf("Input object %q is not numeric.", object.Text(v))); err != nil {
					return nil, 0, err
				}
				continue
			}
			sum += n
		}

		all = append(all, v)
	}

	return all, sum, nil
}

// measureText counts lines, words and characters.
func measureText(c *cmdlet.Call) error {
	var lines, words, letters int64
	for _, item := range c.Items(cmdlet.ObjectName) {
		s := object.Text(item)
		if s != "" {
			lines += int64(strings.Count(strings.TrimSuffix(s, "\n"), "\n")) + 1
		}
		words += int64(len(strings.Fields(s)))
		letters += int64(len(object.Characters(s)))
	}

	o := object.New("text measure")
	for _, of := range []struct {
		flag, name string
		n          int64
	}{{"line", "Lines", lines}, {"word", "Words", words}, {"character", "Characters", letters}} {
		if c.Flags[of.flag] {
			o.Set(of.name, of.n)
		} else {
			o.Set(of.name, nil)
		}
	}

	return c.Out.Put(o.Set("Property", nil))
}

func sortingCmdlets() []cmdlet.Cmdlet {
	base := func(c cmdlet.Cmdlet) cmdlet.Cmdlet {
		c.Values = append([]string{"property", cmdlet.ObjectName}, c.Values...)
		c.Positions = []string{"property"}
		c.Takes = cmdlet.ObjectName
		c.Needs = []string{cmdlet.ObjectName}
		return c
	}

	return []cmdlet.Cmdlet{
		base(cmdlet.Cmdlet{
			Name:    "Sort-Object",
			Aliases: []string{"sort"},
			About:   "by properties or blocks",
			Run:     sortObject,
			Flags:   []string{"descending", "unique", "casesensitive"},
		}),
		base(cmdlet.Cmdlet{
			Name:    "Group-Object",
			Aliases: []string{"group"},
			About:   "by properties or blocks",
			Run:     groupObject,
			Flags:   []string{"noelement", "ashashtable", "asstring", "casesensitive"},
		}),
		base(cmdlet.Cmdlet{
			Name:    "Measure-Object",
			Aliases: []string{"measure"},
			About:   "counts, sums, averages, extremes; lines, words and characters",
			Run:     measureObject,
			Flags:   []string{"sum", "average", "minimum", "maximum", "line", "word", "character"},
		}),
	}
}
