package engine

import (
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// referenceValue returns [ref] of a variable, or of a value that is in none.
func (f *frame) referenceValue(x *lang.Cast) (object.Value, error) {
	to, isVariable := x.X.(*lang.Variable)
	if !isVariable || to.Env {
		v, err := f.value(x.X)
		if err != nil || object.Own[*object.Reference](v) != nil {
			return v, err
		}
		return object.Held(object.Plain(v)), nil
	}

	home := f.Holder(*to)
	if home == nil {
		if v, own := f.Session.Host.Own(to.Name); own {
			return object.Held(v), nil
		}
		return nil, &object.Exception{
			Class:    object.RuntimeException,
			ID:       "NonExistingVariableReference",
			Category: object.InvalidOperating,
			Target:   to.Name,
			Message:  "[ref] cannot be applied to a variable that does not exist.",
		}
	}

	return (&object.Reference{
		Get: func() object.Value { return home.Vars[to.Name] },
		Set: func(v object.Value) error { return home.Assign(lang.Variable{Name: to.Name}, object.Plain(v)) },
	}).Object(), nil
}
