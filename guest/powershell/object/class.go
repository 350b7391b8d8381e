package object

import (
	"errors"
	"fmt"
	"strings"

	"mullion.dev/mullion/guest/powershell/session"
)

// CannotConvert returns the error of a value that cannot be converted to a type.
func CannotConvert(v Value, to string) error {
	return Thrown("Cannot convert the %q value of type %q to type %q.", Text(v), TypeName(v), to)
}

// Unconverted returns the error of a text or number that has no place in a type, and why, as .NET says it.
func Unconverted(v Value, to, why string) error {
	r := &ErrorRecord{
		Message:  fmt.Sprintf("Cannot convert value \"%s\" to type \"%s\". Error: \"%s\"", Text(v), to, why),
		ID:       "InvalidCastFromStringToInteger",
		Category: invalidArgument,
	}

	if _, text := Plain(v).(string); !text {
		r.ID = "InvalidCastIConvertible"
	}

	return &Leaving{
		Word:      "throw",
		Statement: true,
		own:       true,
		What:      &Instance{RecordClass(), r},
	}
}

// NotANumber is why a text is no number.
const NotANumber = "Input string was not in a correct format."

// OutOfRange returns why a number has no place in a type, which is named without its namespace.
func OutOfRange(to string) string {
	name := strings.TrimPrefix(to, "System.")
	article := "a"
	if strings.ContainsAny(name[:1], "IU") {
		article = "an"
	}

	switch name {
	case "Byte":
		name, article = "unsigned byte", "an"
	case "SByte":
		name = "signed byte"
	case "Char":
		name = "character"
	}

	if strings.HasPrefix(name, "UI") {
		article = "a"
	}

	return "Value was either too large or too small for " + article + " " + name + "."
}

// ToClass converts texts to objects of a class, and leaves $null and the objects themselves.
func ToClass(name string, parse func(s string) (Value, error)) func(v Value) (Value, error) {
	return func(v Value) (Value, error) {
		if i, ok := v.(*Instance); (ok && i.Of.Name == name) || v == nil {
			return v, nil
		}
		made, err := parse(Text(v))
		if _, ours := errors.AsType[*Leaving](err); err != nil && !ours {
			return nil, CannotConvert(v, name)
		}
		return made, err
	}
}

// Class is a type of .NET, as far as it is implemented: its properties and methods, and those of its objects.
type Class struct {
	Name    string   // with its namespace
	Others  []string // other names: PowerShell's own, such as string
	Make    *Method  // New-Object, or nil
	Fields  []Field  // static
	Calls   []Method
	Props   []Field
	Methods []Method
	Text    func(v any) string  // an object as text; nil: the name of the class
	Same    func(v any) string  // equal objects have the same; nil: each object is equal to itself only
	Each    func(v any) []Value // what an object is when it is enumerated; nil: itself
	Item    *Indexer            // $object[…]
	// Member, SetMember and Names are properties that objects have beside those of the class, and before them; nil:
	// none.
	Member    func(of Value, name string) (v Value, there bool)
	SetMember func(of Value, name string, v Value) (done bool)
	Names     func(of Value) []string
	// Base is the class that a script's class is derived from, or nil. Convert makes an object of it of a value.
	Base    *Class
	Convert func(v Value) (Value, error)
	// Events are what scripts may wait for, by Register-ObjectEvent.
	Events []Event
	// ByProperties says that an object is shown by its properties, though it has a text.
	ByProperties bool
}

// Descends reports whether the class is another one, or derived from it.
func (c *Class) Descends(from *Class) bool {
	for ; c != nil; c = c.Base {
		if c == from {
			return true
		}
	}
	return false
}

// ShownAsText reports whether an object is shown as its text.
func (c *Class) ShownAsText() bool { return c.Text != nil && !c.ByProperties }

// Field is a property: of objects of a class, or static, where of is nil.
type Field struct {
	Name string
	Get  func(s *session.State, of Value) (Value, error)
	Set  func(of, v Value) error // nil: it cannot be set
	// Keep sets a static property that is the session's own; nil: Set does.
	Keep func(s *session.State, v Value) error
}

// Event is an event of the objects of a class.
type Event struct {
	Name string
	// Listen has an object tell its events, each with its arguments, from any goroutine, until stop is called.
	Listen func(of Value, to func(args Value)) (stop func())
}

// Method is a method: of objects of a class, a static one, or a constructor.
type Method struct {
	Name        string
	Least, Most int // the number of arguments
	Do          func(c *Call) (Value, error)
}

// Indexer reads and sets the items of an object, $object[at].
type Indexer struct {
	Get func(of, at Value) (Value, error)
	Set func(of, at, v Value) error // nil: they cannot be set
}

// Instance is an object of a class.
type Instance struct {
	Of *Class
	V  any
}

// Call is a call of a method.
type Call struct {
	State *session.State
	On    Value // the object, nil for a static method
	Args  []Value
}

// Arg returns an argument, nil if it is left out.
func (c *Call) Arg(n int) Value {
	if n < len(c.Args) {
		return c.Args[n]
	}
	return nil
}

// Text returns an argument as text.
func (c *Call) Text(n int) string { return Text(c.Arg(n)) }

// Whole returns an argument as an integer.
func (c *Call) Whole(n int) (int64, error) { return Integer(c.Arg(n)) }

// Own returns the Go value of the object that a method is called on.
func Own[T any](of Value) T {
	i, _ := of.(*Instance)
	var v T
	if i != nil {
		v, _ = i.V.(T)
	}
	return v
}

// Find returns the routine with a name.
func Find(all []Method, name string) *Method {
	for i := range all {
		if strings.EqualFold(all[i].Name, name) {
			return &all[i]
		}
	}
	return nil
}

// FindField returns the property with a name.
func FindField(all []Field, name string) *Field {
	for i := range all {
		if strings.EqualFold(all[i].Name, name) {
			return &all[i]
		}
	}
	return nil
}

// Takes reports whether the method is there and takes a number of arguments.
func (r *Method) Takes(n int) bool { return r != nil && n >= r.Least && n <= r.Most }

// EveryClass has the methods that every object has.
func EveryClass() *Class {
	return &Class{
		Name: "System.Object",
		Methods: []Method{
			{Name: "ToString", Most: 0, Do: func(c *Call) (Value, error) { return Text(c.On), nil }},
			{
				Name:  "Equals",
				Least: 1,
				Most:  1,
				Do: func(c *Call) (Value, error) {
					return Canonical(c.On, true) == Canonical(c.Arg(0), true), nil
				},
			},
			{Name: "GetType", Most: 0, Do: func(c *Call) (Value, error) { return TypeObject(TypeName(c.On)), nil }},
		},
	}
}

// Calling returns the error of a method: PowerShell's words around the exception's; nil without.
func Calling(err error, name string, args int) error {
	return Around(err, fmt.Sprintf("Exception calling %q with %q argument(s): ", name, fmt.Sprint(args)))
}

// Around puts words before an exception's message. What is not implemented, and what ends the script, stays as it is.
func Around(err error, words string) error {
	if err == nil {
		return nil
	}
	if _, ours := errors.AsType[*Leaving](err); ours {
		return err
	}

	inner := RecordOf(err)
	if inner.Class == DepthException || inner.Class == MethodException {
		return err // of the call itself, not of what it calls
	}

	return &Leaving{
		Word:      "throw",
		Statement: true,
		What:      inner.outer(words + `"` + inner.Message + `"`),
	}
}

// classProperty returns a property of an object of a class.
func classProperty(of Value, name string) (v Value, known bool, err error) {
	c := ClassOf(of)
	if c == nil {
		return nil, false, nil
	}

	if c.Member != nil {
		if v, there := c.Member(of, name); there {
			return v, true, nil
		}
	}

	p := FindField(c.Props, name)
	if p == nil {
		return nil, c.Member != nil, nil
	}

	v, err = p.Get(nil, of)
	return v, true, Around(err, fmt.Sprintf("Exception getting %q: ", p.Name))
}

// SetProperty sets a property of an object of a class.
func SetProperty(of Value, name string, v Value) error {
	c := ClassOf(of)
	if c == nil {
		return NoProperty(name)
	}
	if c.SetMember != nil && c.SetMember(of, name, v) {
		return nil
	}

	p := FindField(c.Props, name)
	switch {
	case p == nil:
		return Thrown("Setting the property %q of %s is not part of Mullion's PowerShell.", name, TypeName(of))
	case p.Set == nil:
		return &Exception{
			Class:    RuntimeException,
			ID:       "PropertyAssignmentException",
			Category: InvalidOperating,
			Message:  "'" + p.Name + "' is a ReadOnly property.",
		}
	}

	return Around(p.Set(of, v), fmt.Sprintf("Exception setting %q: ", p.Name))
}

// NoProperty returns the error of setting a property that an object does not have.
func NoProperty(name string) error {
	return &Exception{
		Class:    RuntimeException,
		ID:       "PropertyNotFound",
		Category: InvalidOperating,
		Message:  "The property '" + name + "' cannot be found on this object. Verify that the property exists and can be set.",
	}
}

// TypeName returns the full name of a value's type.
func TypeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "System.Void"
	case bool:
		return "System.Boolean"
	case Enum:
		return v.Of.FullName()
	case []Value, Range:
		return "System.Object[]"
	case *ScriptBlock:
		return "System.Management.Automation.ScriptBlock"
	case *Object:
		return v.typeName()
	case float64:
		return "System.Double"
	case int64:
		if int64(int32(v)) != v { // checks that it fits
			return "System.Int64"
		}
		return "System.Int32"
	case *Hashtable:
		if v.Generic {
			return "System.Collections.Generic.Dictionary`2"
		}
		if v.ordered {
			return "System.Collections.Specialized.OrderedDictionary"
		}
		return "System.Collections.Hashtable"
	}

	if c := ClassOf(v); c != nil {
		return c.Name
	}

	return "System.Object"
}

// typeName returns the full name of an object's type.
func (o *Object) typeName() string {
	switch {
	case o.Kind == "file":
		if Truth(o.Props["psiscontainer"]) {
			return "System.IO.DirectoryInfo"
		}
		return "System.IO.FileInfo"
	case KindTypes()[o.Kind] != "":
		return KindTypes()[o.Kind]
	case o.Kind != Custom:
		return "a " + o.Kind
	case o.Class != nil:
		return o.Class().Name
	}

	return "System.Management.Automation.PSCustomObject"
}

// ClassOf returns the class of a value, nil for one that has none here.
//
//nolint:gocyclo // a row for each kind of value
func ClassOf(v Value) *Class {
	switch v := v.(type) {
	case string:
		return StringClass()
	case int64:
		return LongClass()
	case float64:
		return DoubleClass()
	case bool:
		return BooleanClass()
	case []Value, Range:
		return ArrayClass()
	case *ScriptBlock:
		return blockClass()
	case Enum:
		return enumObjects(v.Of)
	case *Hashtable:
		switch {
		case v.Generic:
			return genericClass()
		case v.ordered:
			return OrderedClass()
		}
		return HashtableClass()
	case *ArrayList:
		return ListClass(v.Generic)
	case DateTime:
		return DateClass()
	case *Object:
		if v.Class != nil {
			return v.Class()
		}
	case *Instance:
		return v.Of
	}

	return nil
}
