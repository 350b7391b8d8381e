package cmdlet

import (
	"errors"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// Cmdlet is one cmdlet of this part of PowerShell.
type Cmdlet struct {
	Name    string
	Aliases []string
	// Values and Flags are the parameters with and without a value. Positions are the parameters for arguments without
	// a name, in order; Rest says that the last of them takes all that remain.
	Values, Flags, Positions []string
	Rest                     bool
	// Takes is the parameter that gets its value from the pipeline, "" if none does; a|b means the first of them that
	// has no value. Needs are the required parameters; a|b means either of them. In both, path stands for
	// literalpath too.
	Takes string
	Needs []string
	// Stream says that Run is called for each object of the pipeline as it comes.
	Stream bool
	// Enough is after how many objects of the pipeline it needs no more, by its parameters: what is before it then
	// ends. Those whose values are not known yet are nil.
	Enough func(given map[string]object.Value) (most int, ok bool)
	// Also are further names of parameters.
	Also map[string]string
	// Allowed are the values that a parameter may have, in lower case.
	Allowed map[string][]string
	// Wild says that -Path may have wild cards.
	Wild bool
	// Keys are the parameters that it carries out for keys of the registry; nil: it knows no keys. KeysOnly says that
	// it knows nothing else.
	Keys     []string
	KeysOnly bool
	// Sessions says that it knows the drives alias:, function: and variable:.
	Sessions bool
	// Certificates says that it knows the drive Cert:.
	Certificates bool
	// Variables says that it knows the drive env:, ManyVariables that it knows wild cards there.
	Variables, ManyVariables bool
	// Refuses is the error for a value that a parameter cannot have; nil: what Allowed permits.
	Refuses func(parameter, v string) error
	// Lists is the error for a value of which only the run shows whether it is there, for the list of what a script
	// lacks.
	Lists func(parameter, v string) error
	// Defines returns the types that a call defines, for the same list, by those of its parameters that are known
	// before the run; an error says what is lacking.
	Defines func(known map[string]string) (types []string, err error)

	About string
	Run   func(c *Call) error
	// WhatIf returns what it would do, which is said with -WhatIf in place of Run; nil: it has no such parameter.
	WhatIf func(c *Call) ([]Deed, error)
	// Begin and End are run before and after the objects of the pipeline come, by a cmdlet that streams; nil: nothing
	// is.
	Begin, End func(c *Call) error
}

// Deed is something that a cmdlet would do, and on what.
type Deed struct{ What, On string }

// Call is one run of a cmdlet.
type Call struct {
	Cmdlet
	Scope  Scope
	State  *session.State
	Action string // what to do on errors, as ErrorAction
	// Warnings is what -WarningAction asks for, in lower case, "" without.
	Warnings string
	Values   map[string]object.Value
	Flags    map[string]bool
	Input    []object.Value
	Piped    bool
	Out      *object.Sink
	Kept     Kept
	By       *object.Invoked // the call, for its errors
}

// Table are the cmdlets that a session has.
type Table []Cmdlet

// Lookup finds a cmdlet by its name or an alias, in lower case.
func (t Table) Lookup(name string) (Cmdlet, bool) {
	for _, c := range t {
		if strings.ToLower(c.Name) == name || slices.Contains(c.Aliases, name) {
			return c, true
		}
	}
	return Cmdlet{}, false
}

// Alias reports whether a name, in lower case, is an alias that every session begins with. help is a function there,
// and alias no name at all: Get-Alias is found by it.
func (t Table) Alias(name string) bool {
	if name == "help" || name == "alias" {
		return false
	}
	return slices.ContainsFunc(t, func(c Cmdlet) bool { return slices.Contains(c.Aliases, name) })
}

// Parameter finds a parameter by its name or the beginning of its name.
func (c Cmdlet) Parameter(name string) (full string, flag bool, err error) {
	if other, ok := c.Also[name]; ok {
		name = other
	}

	var found []string
	for _, p := range slices.Concat(c.Values, c.Flags) {
		if p == name {
			return p, slices.Contains(c.Flags, p), nil
		}
		if strings.HasPrefix(p, name) {
			found = append(found, p)
		}
	}
	if len(found) == 1 {
		return found[0], slices.Contains(c.Flags, found[0]), nil
	}

	switch of := CommonNamed(name); {
	case len(found) > 1: // PowerShell's own error
	case slices.Contains(CommonValues(), of):
		return of, false, nil
	case slices.Contains(CommonFlags(), name):
		return name, true, nil
	case c.WhatIf != nil && AskingNamed(name) == WhatIfName:
		return WhatIfName, true, nil
	}

	if len(found) > 1 {
		return "", false, object.Misfit(object.AmbiguousID,
			"Parameter cannot be processed because the parameter name '%s' is ambiguous. "+
				"Possible matches include: -%s.", name, strings.Join(found, " -"))
	}

	return "", false, object.Misfit(object.NoParameterID,
		"A parameter cannot be found that matches parameter name '%s'. The "+
			"parameter -%[1]s of %s is not part of Mullion's PowerShell.", name, c.Name)
}

// Unbound returns the error of a call that cannot be carried out as it is written.
func (c Cmdlet) Unbound(err error) error {
	r := object.RecordOf(err)
	if _, own := errors.AsType[*object.Exception](err); !own {
		r = object.RecordOf(object.Misfit("ParameterArgumentValidationError", "%v", err))
	}
	return &object.Leaving{
		Word:      "throw",
		Statement: true,
		What:      &object.Instance{Of: object.RecordClass(), V: r},
	}
}

// Text returns a parameter as a string.
func (c *Call) Text(name string) string { return object.Text(c.Values[name]) }

// Items returns the objects that a cmdlet gets by a parameter or from the pipeline.
func (c *Call) Items(name string) []object.Value {
	if v, ok := c.Values[name]; ok {
		return slices.Collect(object.Each(v))
	}
	return c.Input
}

// Names returns the texts of what Items returns: of an object that has a property of that name, the property's.
func (c *Call) Names(parameter, property string) []string {
	var names []string
	for v := range object.Each(object.Value(c.Items(parameter))) {
		if o, is := v.(*object.Object); is && o.Has(property) {
			v = o.Value(property)
		}
		names = append(names, object.Text(v))
	}

	return names
}

// Fail reports an error of the cmdlet; the script goes on unless it has to stop at errors.
func (c *Call) Fail(err error) error { return c.Scope.Complain(c, err) }
