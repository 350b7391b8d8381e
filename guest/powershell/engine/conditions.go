package engine

import (
	"fmt"

	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// valid returns the error of an argument that does not meet a parameter's conditions, nil for one that does.
func (f *frame) valid(p lang.Param, v object.Value) error {
	for _, one := range p.Conditions {
		args, err := values(f, one.Args)
		if err != nil {
			return err
		}
		items := []object.Value{v}
		if !lang.Conditions()[one.Name].Whole {
			items = object.Items(v)
		}
		for _, item := range items {
			why, err := f.failure(one.Name, args, item)
			if err != nil {
				return err
			}
			if why != "" {
				return &object.Exception{
					Class:    object.ValidationException,
					ID:       "ParameterArgumentValidationError",
					Category: "InvalidData",
					Message:  fmt.Sprintf("Cannot validate argument on parameter '%s'. %s", p.Written, why),
				}
			}
		}
	}

	return nil
}

// failure says why a value does not meet a condition, or "".
func (f *frame) failure(condition string, args []object.Value, v object.Value) (string, error) {
	if condition == "validatescript" {
		return notOfScript(f, args, v)
	}
	return binding.Failures()[condition](args, v)
}

// notOfScript runs a script block with the value as $_, which is to output what is true.
func notOfScript(f *frame, args []object.Value, v object.Value) (string, error) {
	block, ok := args[0].(*object.ScriptBlock)
	if !ok {
		return "", nil // the parser lets only script blocks pass
	}
	scope := f.child()
	scope.Vars["_"] = v
	var got []object.Value
	f.in.tries++ // what it throws is the reason
	err := f.in.callScript(scope, lang.ScriptOf(block), nil, Feed{}, object.Collect(&got))
	f.in.tries--
	switch {
	case err != nil && object.Catchable(err):
		return object.RecordOf(err).Message, nil
	case err != nil || object.Truth(object.One(got)):
		return "", err
	}

	return fmt.Sprintf("The \"%s\" validation script for the argument with value \"%s\" did not return a result of True. "+
		"Determine why the validation script failed, and then try the command again.", block.Words, object.Text(v)), nil
}
