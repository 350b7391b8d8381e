package engine

import (
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// converted is a value converted to a type, which the error of an unknown one names as it is written.
func (f *frame) converted(to, written string, v object.Value) (object.Value, error) {
	if !f.in.types().Known(to) {
		return nil, object.NoType(written)
	}
	return f.in.types().Converted(to, v)
}

func (c *checker) checkTypeTest(x *lang.TypeTest) {
	c.check(x.X)
	if !c.types[x.Of] && !typeKnown(x) {
		c.lack("-is [%s] is %s", x.Written, words.NotHere)
	}
}

func typeKnown(x *lang.TypeTest) bool {
	_, known := dotnet.TypeTests()[x.Of]
	return known || object.ExceptionName(x.Of) != "" || dotnet.ClassNamed(x.Of) != nil || object.EnumOf(x.Of) != nil
}

func (f *frame) typeTestValue(x *lang.TypeTest) (object.Value, error) {
	v, err := f.value(x.X)
	if err != nil {
		return nil, err
	}
	if !typeKnown(x) && !f.in.types().Known(x.Of) {
		return nil, object.NoType(x.Written)
	}
	return f.in.types().Is(object.Plain(v), x.Of) != x.Not, nil
}

// class finds a class by its name: of the session's scripts, or of .NET.
func (in *Interpreter) class(name string) *object.Class {
	if c := in.types().Class(name); c != nil {
		return c
	}
	return dotnet.ClassNamed(name)
}

// staticKnown reports whether the class has the member.
func staticKnown(x *lang.Static, c *object.Class) bool {
	if x.Call && x.Name == "new" && object.ExceptionName(x.Of) != "" {
		return len(x.Args) <= 1
	}
	switch {
	case c == nil:
		return false
	case !x.Call:
		return object.FindField(c.Fields, x.Name) != nil
	case x.Name == "new":
		return c.Make.Takes(len(x.Args))
	}
	return object.Find(c.Calls, x.Name).Takes(len(x.Args))
}

// staticLacks is the error of a member that is not here, nil for others.
func (f *frame) staticLacks(x *lang.Static) error {
	switch {
	case staticKnown(x, f.in.class(x.Of)):
		return nil
	case !f.in.types().Known(x.Of):
		return object.NoType(x.Written)
	case x.Call:
		return object.NoMethod(x.Written, x.Member, len(x.Args))
	}
	return object.NoMember(x.Written, x.Member)
}

func (c *checker) checkStatic(x *lang.Static) {
	if !c.types[x.Of] && !staticKnown(x, dotnet.ClassNamed(x.Of)) {
		c.lack("[%s]::%s of .NET is %s", x.Written, x.Member, words.NotHere)
	}
	for _, a := range x.Args {
		c.check(a)
	}
}

func (f *frame) staticValue(x *lang.Static) (object.Value, error) {
	if t := f.in.types().Enum(x.Of); t != nil && !x.Call {
		if v, ok := t.Named(x.Name); ok {
			return v, nil
		}
	}
	if err := f.staticLacks(x); err != nil {
		return nil, err
	}
	args, err := values(f, x.Args)
	if err != nil {
		return nil, err
	}
	c := f.in.class(x.Of)
	switch {
	case x.Call && x.Name == "new":
		return dotnet.Construct(f.in.State, x.Of, args)
	case !x.Call:
		return object.FindField(c.Fields, x.Name).Get(f.in.State, nil)
	}
	r := object.Find(c.Calls, x.Name)
	v, err := r.Do(&object.Call{State: f.in.State, Args: args})
	return v, object.Calling(err, r.Name, len(args))
}

// values are the values of expressions.
func values(f *frame, xs []lang.Expr) ([]object.Value, error) {
	var args []object.Value
	for _, x := range xs {
		v, err := f.value(x)
		if err != nil {
			return nil, err
		}
		args = append(args, object.Plain(v))
	}
	return args, nil
}

func (c *checker) checkTypeValue(x *lang.TypeLiteral) {
	if !c.types[words.TypeName(x.Name)] && !dotnet.KnownType(x.Name) {
		c.lack("the type [%s] is %s", x.Name, words.NotHere)
	}
}

func (f *frame) typeLiteralValue(x *lang.TypeLiteral) (object.Value, error) {
	o := f.in.types().Object(x.Name)
	if o == nil {
		return nil, object.NoType(x.Name)
	}
	return o, nil
}
