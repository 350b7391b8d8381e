package object

import (
	"fmt"

	"mullion.dev/mullion/guest/powershell/session"
)

// Reference is what [ref] makes of a variable: who has it reads and sets the variable
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_ref).
type Reference struct {
	Get func() Value
	Set func(v Value) error
}

// Held returns a reference to a value that is in no variable.
func Held(v Value) *Instance {
	return (&Reference{
		Get: func() Value { return v },
		Set: func(next Value) error {
			v = next
			return nil
		},
	}).Object()
}

// Object returns the reference as a value.
func (r *Reference) Object() *Instance { return &Instance{ReferenceClass(), r} }

// ReferenceName is the full name of the type of references.
const ReferenceName = "System.Management.Automation.PSReference"

// ReferenceClass returns the class PSReference.
func ReferenceClass() *Class {
	return &Class{
		Name:   ReferenceName,
		Others: []string{"ref", "psreference"},
		Make: &Method{
			Least: 1,
			Most:  1,
			Do:    func(c *Call) (Value, error) { return Held(c.Arg(0)), nil },
		},
		Props: []Field{{
			Name: "Value",
			Get:  func(_ *session.State, of Value) (Value, error) { return Own[*Reference](of).Get(), nil },
			Set:  func(of, v Value) error { return Own[*Reference](of).Set(v) },
		}},
	}
}

// ToReference returns a value for a parameter of the type ref, which must be a reference.
func ToReference(v Value) (Value, error) {
	if Own[*Reference](v) == nil {
		return nil, &Exception{
			Class:    "System.Management.Automation.PSInvalidCastException",
			ID:       "PSReferenceTypeExpected",
			Category: invalidArgument,
			Message:  "Reference type is expected in argument.",
		}
	}
	return v, nil
}

// TryParse returns the static method TryParse beside a Parse: it puts the value into the variable, or none, and says
// which.
func TryParse(none func() Value, parse func(s string) (Value, error)) Method {
	return Method{
		Name:  "TryParse",
		Least: 2,
		Most:  2,
		Do: func(c *Call) (Value, error) {
			to := Own[*Reference](c.Arg(1))
			if to == nil {
				return nil, NotReferred(2)
			}
			v, err := parse(c.Text(0))
			if err != nil {
				return false, to.Set(none())
			}
			return true, to.Set(v)
		},
	}
}

// Nothing returns $null, where a value is returned.
func Nothing() Value { return nil }

// NotReferred returns the error of an argument that a method wants to set, and that is no reference.
func NotReferred(n int) error {
	r := &ErrorRecord{
		Message:  fmt.Sprintf("Argument: '%d' should be a %s. Use [ref].", n, ReferenceName),
		Class:    MethodException,
		ID:       "NonRefArgumentToRefParameterMsg",
		Category: notSpecified,
	}
	return &Leaving{
		Word:      "throw",
		Statement: true,
		What:      &Instance{RecordClass(), r},
	}
}
