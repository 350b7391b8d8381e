package powershell

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// custom is the kind of objects with any properties, for example from JSON. A property that they do not have is $null.
const custom = "custom"

// put sets a property; a new one comes after the others.
func (o *object) put(name string, v value) {
	if _, there := o.props[lower(name)]; !there {
		o.names = append(o.names, name)
	}
	o.props[lower(name)] = v
}

// text is the object as PowerShell writes it into a string.
func (o *object) text() string {
	if o.kind == "selected line" {
		return selectedText(o)
	}
	if o.kind == custom {
		var parts []string
		for _, name := range o.names {
			parts = append(parts, name+"="+text(o.props[lower(name)]))
		}
		return "@{" + strings.Join(parts, "; ") + "}"
	}
	for _, name := range []string{"fullname", "name", "value", "path"} {
		if s, ok := o.props[name].(string); ok {
			return s
		}
	}
	return o.kind
}

// assignTo sets a property, or an item of a list.
type assignTo struct {
	line int
	to   expr // member, index or static
	op   string
	x    stmt
}

func (s *assignTo) check(c *checker) {
	s.to.check(c)
	s.x.check(c)
}

func (s *assignTo) run(f *frame, _ *sink) error {
	f.in.at(s.line)
	v, err := (&assign{x: s.x}).assigned(f)
	if err != nil {
		return err
	}
	if s.op != "=" {
		before, err := s.to.value(f)
		if err != nil {
			return err
		}
		if v, err = arithmetic(s.op[:1], before, v); err != nil {
			return err
		}
	}
	switch to := s.to.(type) {
	case *member:
		of, err := to.of.value(f)
		if err != nil {
			return err
		}
		name, err := to.named(f)
		if err != nil {
			return err
		}
		switch o := of.(type) {
		case *table:
			o.set(name, v)
			return nil
		case *instance:
			return setProperty(o, name, v)
		}
		o, ok := of.(*object)
		if !ok || o.kind != custom || !o.has(name) {
			return thrown(
				"The property '%s' cannot be found on this object. Verify that the property exists and can be set.",
				name)
		}
		o.props[name] = v
		return nil
	case *index:
		return s.setItem(f, to, v)
	case *cast:
		return f.put(to, v)
	case *staticOf:
		found, err := to.found(f)
		if err != nil {
			return err
		}
		return f.put(found, v)
	case *static:
		if err := to.lacks(); err != nil {
			return err
		}
		of := findField(classNamed(to.of).fields, to.name)
		if of.set == nil {
			return thrown("Setting [%s]::%s of .NET is not part of Mullion's PowerShell.", to.written, to.member)
		}
		return of.set(nil, v)
	}
	return errors.ErrUnsupported
}

// assignSeveral gives each variable an item of a list, and the last all that remain.
type assignSeveral struct {
	line int
	to   []expr
	x    stmt
}

func (s *assignSeveral) check(c *checker) {
	s.x.check(c)
	for _, to := range s.to {
		if _, isVariable := to.(*variable); !isVariable {
			to.check(c)
		}
	}
}

func (s *assignSeveral) run(f *frame, _ *sink) error {
	f.in.at(s.line)
	v, err := (&assign{x: s.x}).assigned(f)
	if err != nil {
		return err
	}
	items := slices.Collect(each(v))
	for i, to := range s.to {
		var item value
		switch {
		case i >= len(items):
		case i == len(s.to)-1:
			item = one(items[i:])
		default:
			item = items[i]
		}
		if err := f.put(to, item); err != nil {
			return err
		}
	}
	return nil
}

func (o *object) has(name string) bool {
	_, there := o.props[name]
	return there
}

func (s *assignTo) setItem(f *frame, to *index, v value) error {
	of, err := to.of.value(f)
	if err != nil {
		return err
	}
	at, err := to.at.value(f)
	if err != nil {
		return err
	}
	switch o := of.(type) {
	case *table:
		return o.setAt(plain(at), v)
	case *instance:
		if o.of.item != nil && o.of.item.set != nil {
			return around(o.of.item.set(o, at, v), "Exception setting \"Item\": ")
		}
	}
	n, err := integer(at)
	if err != nil {
		return err
	}
	items, ok := of.([]value)
	if l, isList := of.(*arrayList); isList {
		items, ok = l.items, true
	}
	if n < 0 {
		n += int64(len(items))
	}
	if !ok || n < 0 || n >= int64(len(items)) {
		return thrown("Index was outside the bounds of the array.")
	}
	items[n] = v
	return nil
}

// blockClass is ScriptBlock: Create makes a block of a text.
func blockClass() *class {
	return &class{
		name:   "System.Management.Automation.ScriptBlock",
		others: []string{"scriptblock"},
		calls: []routine{{name: "Create", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			script, err := c.f.in.read(c.f, c.text(0))
			if err != nil {
				return nil, late(err)
			}
			return &scriptBlock{script}, nil
		}}},
	}
}

// invokeExpression runs a text as a script, in the scope it is called in.
func invokeExpression(c *call) error {
	texts := c.input
	if v, ok := c.values["command"]; ok {
		texts = []value{v}
	}
	for _, t := range texts {
		script, err := c.f.in.read(c.f, text(t))
		if err != nil {
			return late(err)
		}
		leave := c.f.in.enter(script)
		err = script.run(c.f, nil, feed{}, c.out)
		c.f.in.mark(err)
		leave()
		if err != nil {
			return err
		}
	}
	return nil
}

// selectObject takes the first objects, or properties of them.
func selectObject(c *call) error {
	if c.values["property"] != nil && c.values["expandproperty"] != nil {
		return thrown("Select-Object : -Property together with -ExpandProperty is not part of Mullion's PowerShell.")
	}
	items, err := c.cut(c.input)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, item := range items {
		picked, err := c.picked(item)
		if err != nil {
			return err
		}
		for v := range each(picked) {
			name := canonical(v, true)
			if o, ok := v.(*object); ok {
				name = o.text()
			}
			if c.flags["unique"] && seen[name] {
				continue
			}
			seen[name] = true
			if err := c.out.put(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut are the objects that -Skip, -First and -Last leave. With -Last, -Skip leaves out objects at the end.
func (c *call) cut(items []value) ([]value, error) {
	numbers := map[string]int{}
	for _, name := range []string{"skip", "first", "last"} {
		n, err := integer(c.values[name])
		if err != nil {
			return nil, err
		}
		numbers[name] = min(max(int(n), 0), len(items))
	}
	first, last := c.values["first"] != nil, c.values["last"] != nil
	switch {
	case first && last:
		return nil, thrown("Select-Object : -First together with -Last is not part of Mullion's PowerShell.")
	case last:
		items = items[:len(items)-numbers["skip"]]
		return items[max(0, len(items)-numbers["last"]):], nil
	}
	items = items[numbers["skip"]:]
	if first {
		items = items[:min(numbers["first"], len(items))]
	}
	return items, nil
}

// picked is what Select-Object makes of one object: the object, one of its properties, or an object with some of them.
func (c *call) picked(item value) (value, error) {
	if name := c.text("expandproperty"); name != "" {
		if o, ok := item.(*object); ok && !o.has(lower(name)) {
			return nil, c.fail(itsWords("Property %q cannot be found.", name))
		}
		return property(item, lower(name))
	}
	if c.values["property"] == nil {
		return item, nil
	}
	keys, err := c.keysFor(item)
	if err != nil {
		return nil, err
	}
	o := newObject(custom)
	for _, k := range keys {
		v, err := k.of(c, item)
		if err != nil {
			return nil, err
		}
		o.put(k.name, v)
	}
	return o, nil
}

// comparisons are the operators that Where-Object has as parameters.
func comparisons() []string {
	var all []string
	for _, op := range withCase() {
		if op != "replace" && op != "split" {
			all = append(all, op, "i"+op, "c"+op)
		}
	}
	return all
}

// compared picks objects by a property: Where-Object Name -eq value.
func compared(c *call) error {
	name := cmp.Or(c.text("property"), c.text("filterscript")) // the first position may be either
	if name == "" {
		return thrown("Where-Object : a script block or the name of a property is missing.")
	}
	op, want := "", value(nil)
	for _, o := range comparisons() {
		if v, ok := c.values[o]; ok {
			if op != "" {
				return thrown("Where-Object : -%s and %s exclude each other.", o, op)
			}
			op, want = "-"+o, v
		}
	}
	for _, item := range c.input {
		v, err := property(item, lower(name))
		if err != nil {
			return err
		}
		yes := truth(v)
		if op != "" {
			got, err := (&binary{caseless(op), &literal{v}, &literal{want}}).value(c.f)
			if err != nil {
				return err
			}
			yes = truth(got)
		}
		if yes {
			if err := c.out.put(item); err != nil {
				return err
			}
		}
	}
	return nil
}
