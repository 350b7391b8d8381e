package engine

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

func (f *frame) memberValue(x *lang.Member) (object.Value, error) {
	of, err := f.value(x.Of)
	if err != nil {
		return nil, err
	}
	written, err := f.memberName(x)
	if err != nil {
		return nil, err
	}
	if !x.Call {
		return f.property(x, object.Plain(of), written)
	}

	name := strings.ToLower(written)
	args, err := values(f, x.Args)
	if err != nil {
		return nil, err
	}
	if v, is, err := f.baseCall(x, of, args); is {
		return v, err
	}
	return f.Method(object.Plain(of), name, args)
}

// property returns what a member is that is not called.
func (f *frame) property(x *lang.Member, of object.Value, written string) (object.Value, error) {
	name := strings.ToLower(written)
	if t, is := of.(*object.Hashtable); is && t.Exact && t.Has(written) {
		return t.Get(written), nil
	}
	if name == "psobject" && !ownProperty(of, name) {
		return dotnet.Inspected(of), nil
	}
	if v, is := x.Of.(*lang.Variable); is && v.Name == "profile" {
		if path, is := f.in.profileNamed(name); is {
			return path, nil
		}
	}
	if err := f.absent(of, written); err != nil {
		return nil, err
	}
	return object.Property(of, name)
}

// memberName returns the member's name as it is written.
func (f *frame) memberName(x *lang.Member) (string, error) {
	if x.By == nil {
		return x.Written, nil
	}
	v, err := f.value(x.By)
	return object.Text(v), err
}

// Method calls a method of an object, or of a list's items if lists do not have it.
func (f *frame) Method(of object.Value, name string, args []object.Value) (object.Value, error) {
	defer f.calls()()
	items, several := of.([]object.Value)
	if l, isList := of.(*object.ArrayList); isList {
		items, several = l.Items, true
	}
	if v, is, err := f.intrinsic(of, name, args); is || err != nil {
		return v, err
	}
	if !several || object.Find(object.ClassOf(of).Methods, name) != nil ||
		object.Find(object.EveryClass().Methods, name) != nil {
		return dotnet.CallMethod(f.in.State, of, name, args)
	}

	out := []object.Value{}
	for _, item := range items {
		v, err := dotnet.CallMethod(f.in.State, item, name, args)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out = append(out, v)
		}
	}

	return object.One(out), nil
}
