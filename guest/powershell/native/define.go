package native

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// Types are the types of C# of a session.
type Types struct {
	made    map[string]*made
	sources map[string]string // by the type that one declares
	last    uint32            // the error code of the last function that keeps it
	rooms   map[uintptr][]byte
	// Call is what calls a function of a library; nil: the system does.
	Call func(library string, entries []string, args []uintptr) (result uintptr, last uint32, err error)
}

// Of returns the types of a session.
func Of(s *session.State) *Types { return session.Keep[Types](s) }

// made is a type that was declared.
type made struct {
	declared  *declared
	busy      bool // it is being made
	class     *object.Class
	structure *structure
	enum      *object.EnumType
	numbers   primitive // of the enumeration
}

// Result is what a source declares.
type Result struct {
	Classes []*object.Class
	Enums   []*object.EnumType
	Names   []string // of all, in the order of the source
}

// ErrExists says that a type of this name is there, of another source.
type ErrExists struct{ Name string }

func (e *ErrExists) Error() string {
	return "Cannot add type. The type name '" + e.Name + "' already exists."
}

// Define makes the types that a source declares. A source that was read before has its types already. An *Error says
// what of it is not here, an *ErrExists that a type of another source has the name.
func (t *Types) Define(source string) (Result, error) {
	all, err := read(source)
	if err != nil {
		return Result{}, err
	}

	if t.made == nil {
		t.made = map[string]*made{}
		t.sources = map[string]string{}
		t.rooms = map[uintptr][]byte{}
	}
	var result Result
	for i, d := range all {
		if before, there := t.sources[d.name]; there && before != source {
			return Result{}, &ErrExists{d.name}
		}
		if slices.ContainsFunc(all[:i], func(other *declared) bool { return other.name == d.name }) {
			return Result{}, &Error{d.line, "a second type " + d.name}
		}
		result.Names = append(result.Names, d.name)
	}

	if len(all) == 0 || t.sources[all[0].name] == source {
		return result, nil
	}
	return result, t.define(source, all, &result)
}

// Names returns the names of the types that a source declares, and an *Error where it does anything else.
func Names(source string) ([]string, error) {
	var t Types
	result, err := t.Define(source)
	return result.Names, err
}

// define makes types, or none of them.
func (t *Types) define(source string, all []*declared, result *Result) (err error) {
	for _, d := range all {
		t.made[d.name] = &made{declared: d}
		t.sources[d.name] = source
	}
	defer func() {
		if err == nil {
			return
		}
		for _, d := range all {
			delete(t.made, d.name)
			delete(t.sources, d.name)
		}
	}()

	for _, d := range all {
		m := t.made[d.name]
		if err := t.make(m); err != nil {
			return err
		}
		if m.enum != nil {
			result.Enums = append(result.Enums, m.enum)
		} else {
			result.Classes = append(result.Classes, m.class)
		}
	}
	return nil
}

// make makes a type, and before it those that it is made of.
func (t *Types) make(m *made) error {
	d := m.declared
	switch {
	case m.class != nil || m.enum != nil:
		return nil
	case m.busy:
		return &Error{d.line, "the structure " + d.name + ", which has itself in it"}
	case d.enum != nil:
		return m.makeEnum()
	}

	m.busy = true
	defer func() { m.busy = false }()
	class := &object.Class{Name: d.name}
	for _, c := range d.constants {
		class.Fields = append(class.Fields, object.Field{
			Name: c.name,
			Get:  func(*session.State, object.Value) (object.Value, error) { return c.value, nil },
		})
	}

	if d.structure {
		if err := t.makeStructure(m, class); err != nil {
			return err
		}
	}
	for _, f := range d.functions {
		if err := t.addFunction(d, class, f); err != nil {
			return err
		}
	}

	m.class = class
	return nil
}

func (m *made) makeEnum() error {
	d := m.declared
	p, known := primitives()[d.enum.of]
	if !known {
		return &Error{d.line, "an enumeration of the type " + d.enum.of}
	}
	e := &object.EnumType{
		Name:  d.name,
		Flags: d.enum.flags,
		Own:   true,
	}
	for _, c := range d.enum.values {
		n, _ := c.value.(int64)
		e.Values = append(e.Values, object.EnumName{Name: c.name, N: n})
	}

	m.enum, m.numbers = e, p
	return nil
}

// look returns what finds a type by its name from within another one: in it, in those around it, in their namespaces.
func (t *Types) look(from *declared, failed *error) func(name string) *made {
	return func(name string) *made {
		inside := strings.ReplaceAll(name, ".", "+")
		for at := from.name; ; {
			for _, candidate := range []string{at + "+" + inside, at + "." + name, strings.TrimPrefix(at+"."+inside, ".")} {
				m := t.made[strings.Trim(candidate, ".+")]
				if m == nil {
					continue
				}
				if err := t.make(m); err != nil {
					*failed = err
					return nil
				}
				return m
			}
			if at == "" {
				return nil
			}
			at = at[:max(strings.LastIndexAny(at, "+."), 0)]
		}
	}
}

// shape returns how a type lies in memory, as a declaration has it.
func (t *Types) shape(from *declared, k kind, wide bool) (shape, error) {
	var failed error
	s, err := shapeOf(k, wide, t.look(from, &failed))
	if failed != nil {
		return s, failed
	}
	return s, err
}

func (t *Types) makeStructure(m *made, class *object.Class) error {
	d := m.declared
	s := &structure{name: d.name, class: class}
	for _, f := range d.fields {
		at, err := t.shape(d, f.of, d.wide)
		if err != nil {
			return err
		}
		if at.form == nothing || at.form == list || at.form == builder {
			return &Error{f.of.line, "the field " + f.name + " of " + d.name}
		}
		s.fields = append(s.fields, placed{name: f.name, shape: at})
		class.Props = append(class.Props, fieldOf(f.name, at))
	}

	if err := s.place(d.packing); err != nil {
		return &Error{d.line, err.Error()}
	}
	class.Make = &object.Method{Do: func(*object.Call) (object.Value, error) { return s.empty(), nil }}
	class.Convert = s.convert
	m.structure = s
	return nil
}

// fieldOf returns a field as a property. What does not fit its type is refused when it is set.
func fieldOf(name string, s shape) object.Field {
	key := strings.ToLower(name)
	return object.Field{
		Name: name,
		Get: func(_ *session.State, of object.Value) (object.Value, error) {
			return of.(*object.Object).Props[key], nil
		},
		Set: func(of, v object.Value) error {
			fitting, err := s.fitted(v)
			if err == nil {
				of.(*object.Object).Props[key] = fitting
			}
			return err
		},
	}
}

// fitted returns a value as one of the shape.
func (s shape) fitted(v object.Value) (object.Value, error) {
	if s.form == text || s.form == inside {
		if v = object.Plain(v); v == nil {
			return nil, nil
		}
		return object.Text(v), nil
	}
	if s.form == record {
		return s.of.convert(v)
	}

	room := make([]byte, s.size)
	var kept [][]byte
	if err := s.put(room, v, &kept); err != nil {
		return nil, err
	}
	return s.get(room)
}

// convert makes an object of the structure of a value: of a hash table with its fields.
func (s *structure) convert(v object.Value) (object.Value, error) {
	v = object.Plain(v)
	if o, ok := v.(*object.Object); ok && o.Class != nil && o.Class() == s.class {
		return o, nil
	}
	t, ok := v.(*object.Hashtable)
	if !ok {
		return nil, object.CannotConvert(v, s.name)
	}

	o := s.empty()
	for _, k := range t.Keys {
		p := object.FindField(s.class.Props, object.Text(k))
		if p == nil {
			return nil, object.Thrown("Cannot create object of type \"%s\". The property \"%s\" was not found.", s.name,
				object.Text(k))
		}
		if err := p.Set(o, t.Get(k)); err != nil {
			return nil, err
		}
	}

	return o, nil
}

// addFunction adds a function to a class. Functions of one name differ in how many parameters they have.
func (t *Types) addFunction(d *declared, class *object.Class, f function) error {
	ready, err := t.ready(d, f)
	if err != nil {
		return err
	}

	n := len(f.params)
	method := object.Method{
		Name:  f.name,
		Least: n,
		Most:  n,
		Do:    ready.call,
	}
	same := object.Find(class.Calls, f.name)
	if same == nil {
		class.Calls = append(class.Calls, method)
		return nil
	}

	before := same.Do
	least, most := same.Least, same.Most
	if n >= least && n <= most {
		return &Error{f.line, fmt.Sprintf("a second %s with %d parameters", f.name, n)}
	}
	same.Least, same.Most = min(least, n), max(most, n)
	same.Do = func(c *object.Call) (object.Value, error) {
		if len(c.Args) == n {
			return ready.call(c)
		}
		return before(c)
	}
	return nil
}
