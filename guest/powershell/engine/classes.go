package engine

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/words"
)

// types returns the types that the scripts of the session have defined.
func (in *Interpreter) types() *dotnet.Types { return dotnet.Defined(in.State) }

// scriptClass is a class of a script.
type scriptClass struct {
	exception string // of .NET, that it is derived from without a class of a script between them; "" for none
	s         *lang.ClassStmt
	home      *frame // where it is defined
	base      *scriptClass
	of        *object.Class
	static    map[string]object.Value // nil before the class is used
}

// defineTypes defines the types of a block before any of it runs, as PowerShell does: a base may come after what is
// derived from it.
func (f *frame) defineTypes(b lang.Block) error {
	pending := map[string]*lang.ClassStmt{}
	for _, s := range b {
		switch s := s.(type) {
		case *lang.EnumStmt:
			if err := f.defineEnum(s); err != nil {
				return err
			}
		case *lang.ClassStmt:
			pending[words.TypeName(s.Name)] = s
		}
	}

	for _, s := range b {
		c, ok := s.(*lang.ClassStmt)
		if !ok || pending[words.TypeName(c.Name)] != c {
			continue
		}
		if err := f.defineClass(c, pending); err != nil {
			return err
		}
	}

	return nil
}

func (f *frame) defineEnum(s *lang.EnumStmt) error {
	t := &object.EnumType{
		Name:  s.Name,
		Flags: s.Flags,
		Own:   true,
	}
	last := int64(-1)
	for _, one := range s.Items {
		n, known := lang.NumberOf(one.X, last)
		if !known {
			v, err := f.value(one.X)
			if err != nil {
				return err
			}
			if n, err = object.Integer(v); err != nil {
				return err
			}
		}
		t.Values = append(t.Values, object.EnumName{Name: one.Name, N: n})
		last = n
	}

	f.in.types().AddEnum(t)
	return nil
}

// defineClass defines a class, and before it the base that is still to be defined.
func (f *frame) defineClass(s *lang.ClassStmt, pending map[string]*lang.ClassStmt) error {
	delete(pending, words.TypeName(s.Name))
	c := &scriptClass{s: s, home: f.classHome()}
	c.of = &object.Class{Name: s.Name}
	for _, name := range s.Bases {
		if later := pending[words.TypeName(name)]; later != nil {
			if err := f.defineClass(later, pending); err != nil {
				return err
			}
		}
		base := f.in.types().Class(name)
		if words.TypeName(name) == "object" {
			continue
		}
		if exception := object.ExceptionName(name); base == nil && exception != "" {
			c.exception = exception
			continue
		}
		if base == nil {
			return notHere(&lang.LateExpr{What: "the base " + name + " of the class " + s.Name})
		}
		c.base = f.in.classes[base]
		c.of.Base = base
	}

	for _, m := range s.Methods {
		if err := scriptLacks(m.Script); err != nil {
			return err
		}
	}

	for _, p := range s.Props {
		if err := scriptLacks(&lang.Script{Lacking: p.Lacking}); err != nil {
			return err
		}
	}

	c.build()
	if f.in.classes == nil {
		f.in.classes = map[*object.Class]*scriptClass{}
	}
	f.in.classes[c.of] = c
	f.in.types().AddClass(c.of)
	return nil
}

// classHome returns where the methods of a class run: in the scope of the module or file, or in the outermost.
func (f *frame) classHome() *frame {
	for s := f.Scope; s != nil; s = s.Parent {
		if s.File || s.Module != nil {
			return f.in.frame(s)
		}
	}

	return f.in.Top
}

// build makes the properties and methods of the class, those of its base among them.
func (c *scriptClass) build() {
	c.of.Make = &object.Method{
		Most: 1 << 10,
		Do:   func(call *object.Call) (object.Value, error) { return c.make(call.Args) },
	}
	c.of.Convert = c.convert
	if exception := c.exceptional(); exception != "" {
		c.of.Props = append(c.of.Props, exceptionFields(exception)...)
		c.of.Methods = append(c.of.Methods, exceptionMethods(exception)...)
	}

	for at := c; at != nil; at = at.base {
		for _, p := range at.s.Props {
			field := c.field(at, p)
			if p.Static {
				c.of.Fields = append(c.of.Fields, field)
			} else {
				c.of.Props = append(c.of.Props, field)
			}
		}
		for i := range at.s.Methods {
			if m := &at.s.Methods[i]; !at.s.Constructor(m) {
				c.method(m)
			}
		}
	}
}

func (c *scriptClass) field(at *scriptClass, p lang.ClassProp) object.Field {
	if p.Static {
		return object.Field{
			Name: p.Written,
			Get: func(*session.State, object.Value) (object.Value, error) {
				err := at.ready()
				return at.static[p.Name], err
			},
			Set: func(_, v object.Value) error {
				if err := at.ready(); err != nil {
					return err
				}
				v, err := at.fitting(p, v)
				at.static[p.Name] = v
				return err
			},
		}
	}

	return object.Field{
		Name: p.Written,
		Get: func(_ *session.State, of object.Value) (object.Value, error) {
			return of.(*object.Object).Props[p.Name], nil
		},
		Set: func(of, v object.Value) error {
			v, err := at.fitting(p, v)
			if err == nil {
				of.(*object.Object).Props[p.Name] = v
			}
			return err
		},
	}
}

// fitting returns a value for a property, of its type and as its attributes ask.
func (c *scriptClass) fitting(p lang.ClassProp, v object.Value) (object.Value, error) {
	v = object.Plain(v)
	if p.To != "" {
		var err error
		if v, err = c.home.in.types().Converted(p.To, v); err != nil {
			return nil, err
		}
	}

	return v, c.home.valid(p.Param, v)
}

// initial returns what a property has at first.
func (c *scriptClass) initial(p lang.ClassProp, scope *frame) (object.Value, error) {
	if p.Fallback != nil {
		v, err := scope.value(p.Fallback)
		if err != nil {
			return nil, err
		}
		if p.To == "" {
			return object.Plain(v), nil
		}
		return c.home.in.types().Converted(p.To, object.Plain(v))
	}

	if e := c.home.in.types().Enum(p.To); e != nil {
		return object.Enum{Of: e}, nil
	}
	if slices.Contains([]string{"int", "int32", "long", "int64", "double", "bool", "byte", "uint32", "switch"}, p.To) {
		return dotnet.Converted(p.To, nil)
	}
	return nil, nil
}

// ready gives the static properties their first values, once.
func (c *scriptClass) ready() error {
	if c.static != nil {
		return nil
	}
	c.static = map[string]object.Value{}
	for _, p := range c.s.Props {
		if !p.Static {
			continue
		}
		v, err := c.initial(p, c.home.child())
		if err != nil {
			return err
		}
		c.static[p.Name] = v
	}

	return nil
}

// make makes an object of the class. It is a call: the first values of its properties may make further ones.
func (c *scriptClass) make(args []object.Value) (object.Value, error) {
	rise, err := c.home.in.descend()
	if err != nil {
		return nil, err
	}
	defer rise()

	o := object.New(object.Custom)
	o.Class = func() *object.Class { return c.of }
	o.Shown = func(o *object.Object) string { return c.text(o) }
	for _, at := range slices.Backward(c.bases()) {
		scope := at.home.child()
		scope.Vars["this"] = o
		for _, p := range at.s.Props {
			if p.Static {
				continue
			}
			v, err := at.initial(p, scope)
			if err != nil {
				return nil, err
			}
			o.Props[p.Name] = v
		}
	}

	for _, at := range c.bases() { // its own are shown first, as .NET lists them
		for _, p := range at.s.Props {
			if !p.Static && !p.Hidden {
				o.Names = append(o.Names, p.Written)
			}
		}
	}
	if exception := c.exceptional(); exception != "" {
		var names []string
		for _, at := range c.bases() {
			names = append(names, at.s.Name)
		}
		object.AsException(o, append(names, exception))
	}

	return o, c.construct(o, args)
}

// exceptional returns the exception of .NET that the class is derived from, "" for none.
func (c *scriptClass) exceptional() string {
	bases := c.bases()
	return bases[len(bases)-1].exception
}

// exceptionFields returns the properties of an exception of .NET, for objects of a class derived from it.
func exceptionFields(exception string) []object.Field {
	fields := object.ExceptionClass(exception).Props
	for i, f := range fields {
		get := f.Get
		fields[i].Get = func(s *session.State, of object.Value) (object.Value, error) { return get(s, recorded(of)) }
	}
	return fields
}

// exceptionMethods returns the methods of an exception of .NET, but for GetType, which says the class of the script.
func exceptionMethods(exception string) []object.Method {
	methods := slices.DeleteFunc(object.ExceptionClass(exception).Methods, func(m object.Method) bool {
		return m.Name == "GetType"
	})
	for i, m := range methods {
		do := m.Do
		methods[i].Do = func(c *object.Call) (object.Value, error) {
			return do(&object.Call{
				State: c.State,
				On:    recorded(c.On),
				Args:  c.Args,
			})
		}
	}

	return methods
}

// recorded returns the exception that an object of a script's class is, as one of .NET.
func recorded(of object.Value) object.Value {
	o, ok := of.(*object.Object)
	if !ok {
		return of
	}
	return &object.Instance{V: o.Own}
}

// bases returns the class and those that it is derived from.
func (c *scriptClass) bases() []*scriptClass {
	var all []*scriptClass
	for at := c; at != nil; at = at.base {
		all = append(all, at)
	}
	return all
}

// text returns an object as text: what its own ToString says, or the name of its class.
func (c *scriptClass) text(o *object.Object) string {
	for _, at := range c.bases() {
		for i := range at.s.Methods {
			m := &at.s.Methods[i]
			if !strings.EqualFold(m.Name, "ToString") || m.Static || len(m.Script.Params) > 0 {
				continue
			}
			if v, err := at.run(m, o, nil); err == nil {
				return object.Text(v)
			}
		}
	}

	return c.s.Name
}

// construct runs the constructor that fits the arguments, after that of the base.
func (c *scriptClass) construct(o object.Value, args []object.Value) error {
	var best *lang.ClassMethod
	least, any := 0, false
	for i := range c.s.Methods {
		m := &c.s.Methods[i]
		if !c.s.Constructor(m) {
			continue
		}
		any = true
		if far, ok := c.distance(m, args); ok && (best == nil || far < least) {
			best, least = m, far
		}
	}

	if best == nil && (any || len(args) > 0) {
		return noOverload(c.s.Name, args)
	}
	if best == nil {
		return c.constructBase(o, nil)
	}
	scope, err := c.scope(best, o, args)
	if err != nil {
		return err
	}
	given, err := values(scope, best.Base)
	if err != nil {
		return err
	}
	if err := c.constructBase(o, given); err != nil {
		return err
	}
	_, err = c.within(scope, best)
	return err
}

func (c *scriptClass) constructBase(o object.Value, args []object.Value) error {
	if c.base != nil {
		return c.base.construct(o, args)
	}
	if of, ok := o.(*object.Object); ok && c.exception != "" {
		if r, ok := of.Own.(*object.ErrorRecord); ok {
			r.Describe(args)
		}
	}

	return nil
}

// convert makes an object of a value: of a hash table with properties, or by a constructor with one parameter.
func (c *scriptClass) convert(v object.Value) (object.Value, error) {
	v = object.Plain(v)
	if v == nil || object.ClassOf(v).Descends(c.of) {
		return v, nil
	}
	t, isTable := v.(*object.Hashtable)
	if !isTable {
		made, err := c.make([]object.Value{v})
		if err != nil && object.RecordOf(err).ID == "MethodCountCouldNotFindBest" {
			return nil, object.CannotConvert(v, c.s.Name)
		}
		return made, err
	}

	o, err := c.make(nil)
	if err != nil {
		return nil, err
	}
	for _, k := range t.Keys {
		p := object.FindField(c.of.Props, object.Text(k))
		if p == nil {
			return nil, object.Thrown("Cannot create object of type \"%s\". The property \"%s\" was not found.", c.s.Name,
				object.Text(k))
		}
		if err := p.Set(o, t.Get(k)); err != nil {
			return nil, err
		}
	}

	return o, nil
}
