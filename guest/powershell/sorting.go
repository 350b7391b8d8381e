package powershell

import (
	"slices"
	"strings"
)

// key is what Sort-Object, Group-Object and Select-Object take of an object: a property, or the value of a block.
type key struct {
	name       string // of the new property
	property   string // the one that it is taken from, or
	block      *scriptBlock
	descending bool
}

// keys reads the parameter -Property: names, blocks, and hash tables with Name, Expression and Descending.
func (c *call) keys() ([]key, error) {
	var all []key
	for v := range each(c.values["property"]) {
		k, err := c.key(v)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// key reads one value of -Property.
func (c *call) key(v value) (key, error) {
	k := key{descending: c.flags["descending"]}
	switch v := v.(type) {
	case *scriptBlock:
		k.name, k.block = strings.TrimSpace(v.script.text), v
	case *table:
		if err := k.read(v); err != nil {
			return k, err
		}
	default:
		if hasWildcard(text(v)) {
			return k, thrown("Wild cards in -property of %s are not part of Mullion's PowerShell.", c.name)
		}
		k.name, k.property = text(v), text(v)
	}
	return k, nil
}

// read reads a key of a hash table. The names in it may be shortened.
func (k *key) read(t *table) error {
	for _, name := range t.keys {
		v, low := t.get(name), lower(text(name))
		switch {
		case low == "":
		case strings.HasPrefix("expression", low):
			k.block, _ = v.(*scriptBlock)
			k.property = text(v)
			continue
		case strings.HasPrefix("name", low), strings.HasPrefix("label", low):
			k.name = text(v)
			continue
		case strings.HasPrefix("descending", low):
			k.descending = truth(v)
			continue
		case strings.HasPrefix("ascending", low):
			k.descending = !truth(v)
			continue
		}
		return thrown("%q in a property's hash table is not part of Mullion's PowerShell.", text(name))
	}
	if k.name == "" {
		k.name = strings.TrimSpace(k.property)
	}
	return nil
}

// of is what a key takes of an object. An object without the property has $null there.
func (k key) of(c *call, item value) (value, error) {
	if k.block == nil {
		if o, ok := item.(*object); ok && !o.has(lower(k.property)) && o.kind == custom {
			return nil, nil
		}
		return property(item, lower(k.property))
	}
	var got []value
	err := c.withBlock(k.block, item, collect(&got))
	return one(got), err
}

// row is an object and what its keys take of it.
type row struct {
	item value
	keys []value
}

// rows are the objects of the input with their keys; without keys each is its own.
func (c *call) rows(keys []key) ([]row, error) {
	var all []row
	for _, item := range c.items(objectName) {
		r := row{item: item, keys: []value{item}}
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
func sorts(a, b value, exact bool) int {
	_, textual := a.(string)
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	case !textual:
		if n, err := order("-lt", a, b); err == nil {
			return n
		}
	}
	x, y := text(a), text(b)
	if !exact {
		x, y = lower(x), lower(y)
	}
	return strings.Compare(x, y)
}

func sortObject(c *call) error {
	keys, err := c.keys()
	if err != nil {
		return err
	}
	all, err := c.rows(keys)
	if err != nil {
		return err
	}
	exact := c.flags["casesensitive"]
	compare := func(a, b row) int {
		for i := range a.keys {
			n := sorts(a.keys[i], b.keys[i], exact)
			if i < len(keys) && keys[i].descending || len(keys) == 0 && c.flags["descending"] {
				n = -n
			}
			if n != 0 {
				return n
			}
		}
		return 0
	}
	slices.SortStableFunc(all, compare)
	if c.flags["unique"] {
		all = slices.CompactFunc(all, func(a, b row) bool { return compare(a, b) == 0 })
	}
	for _, r := range all {
		if err := c.out.put(r.item); err != nil {
			return err
		}
	}
	return nil
}

func groupObject(c *call) error {
	keys, err := c.keys()
	if err != nil {
		return err
	}
	all, err := c.rows(keys)
	if err != nil {
		return err
	}
	groups := newTable(true)
	groups.exact = c.flags["casesensitive"]
	var found [][]row
	for _, r := range all {
		var names []string
		for _, v := range r.keys {
			names = append(names, text(v))
		}
		name := strings.Join(names, ", ")
		if !groups.has(name) {
			groups.set(name, int64(len(found)))
			found = append(found, nil)
		}
		n, _ := groups.get(name).(int64)
		found[n] = append(found[n], r)
	}
	byName := newTable(false)
	for i, name := range groups.keys {
		var items []value
		for _, r := range found[i] {
			items = append(items, r.item)
		}
		if c.flags["ashashtable"] {
			byName.set(c.groupKey(found[i][0], name), items)
			continue
		}
		o := newObject("group").set("Count", int64(len(items))).set("Name", name)
		if c.flags["noelement"] {
			o.kind = "group without elements"
		} else {
			o.set("Group", items)
		}
		o.props["values"] = found[i][0].keys
		if err := c.out.put(o); err != nil {
			return err
		}
	}
	if c.flags["ashashtable"] {
		return c.out.put(byName)
	}
	return nil
}

// groupKey is the key of a group in a hash table: its value, or with -AsString its text.
func (c *call) groupKey(r row, name value) value {
	if c.flags["asstring"] || len(r.keys) != 1 || r.keys[0] == nil {
		return name
	}
	return r.keys[0]
}

// measureObject counts its input, and adds up or compares a property of it.
func measureObject(c *call) error {
	for _, name := range []string{"line", "word", "character"} {
		if c.flags[name] {
			return c.measureText()
		}
	}
	names := slices.Collect(each(c.values["property"]))
	if len(names) == 0 {
		names = []value{nil}
	}
	for _, name := range names {
		o, err := c.measured(name)
		if err != nil {
			return err
		}
		if err := c.out.put(o); err != nil {
			return err
		}
	}
	return nil
}

// measured is what Measure-Object says of one property, or of the objects themselves.
func (c *call) measured(name value) (*object, error) {
	all, sum, err := c.measurable(name)
	if err != nil {
		return nil, err
	}
	count := int64(len(all))
	var least, most value
	for _, v := range all {
		if least == nil || sorts(v, least, false) < 0 {
			least = v
		}
		if most == nil || sorts(v, most, false) > 0 {
			most = v
		}
	}
	shown := func(flag string, v value) value {
		if !c.flags[flag] || count == 0 {
			return nil
		}
		return v
	}
	average := value(nil)
	if count > 0 {
		average = sum / float64(count)
	}
	return newObject("measure").set("Count", count).set("Average", shown("average", average)).
		set("Sum", shown("sum", sum)).set("Maximum", shown("maximum", most)).set("Minimum", shown("minimum", least)).
		set("Property", name), nil
}

// measurable are the values of a property, and their sum if one is asked for. Then what is no number is left out.
func (c *call) measurable(name value) (all []value, sum float64, err error) {
	for _, item := range c.items(objectName) {
		v := item
		if name != nil {
			if v, err = (key{property: text(name)}).of(c, item); err != nil {
				return nil, 0, err
			}
		}
		if v == nil {
			continue
		}
		if c.flags["sum"] || c.flags["average"] {
			n, err := floating(v)
			if err != nil {
				if err := c.fail(itsWords("Input object %q is not numeric.", text(v))); err != nil {
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
func (c *call) measureText() error {
	lines, words, letters := int64(0), int64(0), int64(0)
	for _, item := range c.items(objectName) {
		s := text(item)
		if s != "" {
			lines += int64(strings.Count(strings.TrimSuffix(s, "\n"), "\n")) + 1
		}
		words += int64(len(strings.Fields(s)))
		letters += int64(len(characters(s)))
	}
	o := newObject("text measure")
	for _, of := range []struct {
		flag, name string
		n          int64
	}{{"line", "Lines", lines}, {"word", "Words", words}, {"character", "Characters", letters}} {
		if c.flags[of.flag] {
			o.set(of.name, of.n)
		} else {
			o.set(of.name, nil)
		}
	}
	return c.out.put(o.set("Property", nil))
}

func sortingCmdlets() []cmdlet {
	base := func(c cmdlet) cmdlet {
		c.values = append([]string{"property", objectName}, c.values...)
		c.positions = []string{"property"}
		c.takes = objectName
		c.needs = []string{objectName}
		return c
	}
	return []cmdlet{
		base(cmdlet{
			name:    "Sort-Object",
			aliases: []string{"sort"},
			about:   "by properties or blocks",
			run:     sortObject,
			flags:   []string{"descending", "unique", "casesensitive"},
		}),
		base(cmdlet{
			name:    "Group-Object",
			aliases: []string{"group"},
			about:   "by properties or blocks",
			run:     groupObject,
			flags:   []string{"noelement", "ashashtable", "asstring", "casesensitive"},
		}),
		base(cmdlet{
			name:    "Measure-Object",
			aliases: []string{"measure"},
			about:   "counts, sums, averages, extremes; lines, words and characters",
			run:     measureObject,
			flags:   []string{"sum", "average", "minimum", "maximum", "line", "word", "character"},
		}),
	}
}
