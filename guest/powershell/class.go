package powershell

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// class is a type of .NET, as far as it is implemented: its properties and methods, and those of its objects.
type class struct {
	name    string   // with its namespace
	others  []string // other names: PowerShell's own, such as string
	make    *routine // New-Object, or nil
	fields  []field  // static
	calls   []routine
	props   []field
	methods []routine
	text    func(v any) string  // an object as text; nil: the name of the class
	line    func(v any) string  // an object as it is shown; nil: by its text or its properties
	same    func(v any) string  // equal objects have the same; nil: each object is equal to itself only
	each    func(v any) []value // what an object is when it is enumerated; nil: itself
	item    *itemOfClass        // $object[…]
	// byProperties says that an object is shown by its properties, though it has a text.
	byProperties bool
}

// shownAsText reports whether an object is shown as its text.
func (c *class) shownAsText() bool { return c.text != nil && !c.byProperties }

// field is a property: of objects of a class, or static, where of is nil.
type field struct {
	name string
	get  func(f *frame, of value) (value, error)
	set  func(of, v value) error // nil: it cannot be set
}

// routine is a method: of objects of a class, a static one, or a constructor.
type routine struct {
	name        string
	least, most int // the number of arguments
	do          func(c *dotCall) (value, error)
}

// itemOfClass reads and sets the items of an object, $object[at].
type itemOfClass struct {
	get func(of, at value) (value, error)
	set func(of, at, v value) error // nil: they cannot be set
}

// instance is an object of a class.
type instance struct {
	of *class
	v  any
}

// dotCall is a call of a method.
type dotCall struct {
	f    *frame
	on   value // the object, nil for a static method
	args []value
}

// arg returns an argument, nil if it is left out.
func (c *dotCall) arg(n int) value {
	if n < len(c.args) {
		return c.args[n]
	}
	return nil
}

func (c *dotCall) text(n int) string { return text(c.arg(n)) }

// whole returns an argument as an integer.
func (c *dotCall) whole(n int) (int64, error) { return integer(c.arg(n)) }

// own returns the Go value of the object that a method is called on.
func own[T any](of value) T {
	i, _ := of.(*instance)
	var v T
	if i != nil {
		v, _ = i.v.(T)
	}
	return v
}

// full is a type's name as classes have it: in lower case, with System.
func full(name string) string {
	return strings.TrimPrefix(lower(strings.TrimSpace(name)), "system.")
}

// classNamed finds a class by one of its names.
func classNamed(name string) *class {
	name = full(name)
	for _, c := range classes() {
		if full(c.name) == name || slices.Contains(c.others, name) {
			return c
		}
	}
	return nil
}

// find returns the routine with a name.
func find(all []routine, name string) *routine {
	for i := range all {
		if strings.EqualFold(all[i].name, name) {
			return &all[i]
		}
	}
	return nil
}

// findField returns the property with a name.
func findField(all []field, name string) *field {
	for i := range all {
		if strings.EqualFold(all[i].name, name) {
			return &all[i]
		}
	}
	return nil
}

func (r *routine) takes(n int) bool { return r != nil && n >= r.least && n <= r.most }

// knownMethod reports whether objects of any class have a method with a number of arguments.
func knownMethod(name string, args int) bool {
	for _, c := range append(classes(), everyClass()) {
		if find(c.methods, name).takes(args) {
			return true
		}
	}
	return false
}

// everyClass has the methods that every object has.
func everyClass() *class {
	return &class{name: "System.Object", methods: []routine{
		{name: "ToString", most: 0, do: func(c *dotCall) (value, error) { return text(c.on), nil }},
		{name: "Equals", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			return canonical(c.on, true) == canonical(c.arg(0), true), nil
		}},
		{name: "GetType", most: 0, do: func(c *dotCall) (value, error) { return typeObject(typeName(c.on)), nil }},
	}}
}

// invoke calls a method of an object.
func (f *frame) invoke(on value, name string, args []value) (value, error) {
	if on == nil {
		return nil, raise("System.Management.Automation.RuntimeException",
			"You cannot call a method on a null-valued expression.")
	}
	var r *routine
	if c := classOf(on); c != nil {
		r = find(c.methods, name)
	}
	if r == nil {
		r = find(everyClass().methods, name)
	}
	if !r.takes(len(args)) {
		return nil, noMethod(typeName(on), name, len(args))
	}
	v, err := r.do(&dotCall{f: f, on: on, args: args})
	return v, calling(err, r.name, len(args))
}

// calling is the error of a method: PowerShell's words around the exception's.
func calling(err error, name string, args int) error {
	return around(err, fmt.Sprintf("Exception calling %q with %q argument(s): ", name, fmt.Sprint(args)))
}

// around puts words before an exception's message. What is not implemented, and what ends the script, stays as it is.
func around(err error, words string) error {
	if err == nil {
		return nil
	}
	if _, ours := errors.AsType[*leaving](err); ours {
		return err
	}
	inner := recordOf(err)
	return &leaving{word: "throw", statement: true, what: inner.outer(words + `"` + inner.message + `"`)}
}

// enter makes an object of a class.
func (f *frame) enter(c *class, args []value) (value, error) {
	if !c.make.takes(len(args)) {
		return nil, thrown("New-Object %s with %d arguments is not part of Mullion's PowerShell.", c.name, len(args))
	}
	v, err := c.make.do(&dotCall{f: f, args: args})
	return v, calling(err, ".ctor", len(args))
}

// classProperty returns a property of an object of a class.
func classProperty(of value, name string) (v value, known bool, err error) {
	c := classOf(of)
	if c == nil {
		return nil, false, nil
	}
	p := findField(c.props, name)
	if p == nil {
		return nil, false, nil
	}
	v, err = p.get(nil, of)
	return v, true, around(err, fmt.Sprintf("Exception getting %q: ", p.name))
}

// setProperty sets a property of an object of a class.
func setProperty(of value, name string, v value) error {
	c := classOf(of)
	if c == nil {
		return cannotSet(name)
	}
	p := findField(c.props, name)
	switch {
	case p == nil:
		return thrown("Setting the property %q of %s is not part of Mullion's PowerShell.", name, typeName(of))
	case p.set == nil:
		return raise("System.Management.Automation.RuntimeException", "'"+p.name+"' is a ReadOnly property.")
	}
	return around(p.set(of, v), fmt.Sprintf("Exception setting %q: ", p.name))
}

func cannotSet(name string) error {
	return raise("System.Management.Automation.RuntimeException", fmt.Sprintf(
		"The property '%s' cannot be found on this object. Verify that the property exists and can be set.", name))
}

// typeName is the full name of a value's type.
func typeName(v value) string {
	switch v := v.(type) {
	case nil:
		return "System.Void"
	case bool:
		return "System.Boolean"
	case enum:
		return "System." + v.of.name
	case []value, span:
		return "System.Object[]"
	case *scriptBlock:
		return "System.Management.Automation.ScriptBlock"
	case *object:
		if v.kind == custom {
			return "System.Management.Automation.PSCustomObject"
		}
		return "a " + v.kind
	case float64:
		return "System.Double"
	case int64:
		if int64(int32(v)) != v { // checks that it fits
			return "System.Int64"
		}
		return "System.Int32"
	case *table:
		if v.ordered {
			return "System.Collections.Specialized.OrderedDictionary"
		}
		return "System.Collections.Hashtable"
	}
	if c := classOf(v); c != nil {
		return c.name
	}
	return "System.Object"
}
