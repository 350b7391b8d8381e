package engine

import (
	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// converted returns a value converted to a type, which the error of an unknown one names as it is written.
func (f *frame) converted(to, written string, v object.Value) (object.Value, error) {
	if !f.in.types().Known(to) {
		return nil, object.NoType(written)
	}
	return f.in.types().Converted(to, v)
}

func (f *frame) typeTestValue(x *lang.TypeTest) (object.Value, error) {
	v, err := f.value(x.X)
	if err != nil {
		return nil, err
	}
	if !binding.TypeKnown(x) && !f.in.types().Known(x.Of) {
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

// staticLacks returns the error of a member that is not here, nil for others.
func (f *frame) staticLacks(x *lang.Static) error {
	switch {
	case binding.StaticKnown(x, f.in.class(x.Of)):
		return nil
	case !f.in.types().Known(x.Of):
		return object.NoType(x.Written)
	case x.Call:
		return object.NoMethod(x.Written, x.Member, len(x.Args))
	}

	return object.NoMember(x.Written, x.Member)
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
	defer f.calls()()
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

// values returns the values of expressions.
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

func (f *frame) typeLiteralValue(x *lang.TypeLiteral) (object.Value, error) {
	o := f.in.types().Object(x.Name)
	if o == nil {
		return nil, object.NoType(x.Name)
	}
	return o, nil
}
