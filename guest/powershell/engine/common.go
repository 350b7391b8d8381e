package engine

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// keeps makes the variables of a call, which values names, in the scope that calls.
func (f *frame) keeps(values map[string]object.Value) (k cmdlet.Kept, err error) {
	for name, list := range map[string]**object.ArrayList{
		cmdlet.ErrorVariable: &k.Errors,
		cmdlet.OutVariable:   &k.Output,
	} {
		v, given := values[name]
		if !given {
			continue
		}
		if *list, err = f.listVariable(object.Text(v)); err != nil {
			return cmdlet.Kept{}, err
		}
	}

	return k, nil
}

// listVariable makes a variable a new list, or with a + before its name a list that begins with what it has.
func (f *frame) listVariable(name string) (*object.ArrayList, error) {
	name, more := strings.CutPrefix(name, "+")
	if err := binding.BadVariable(name); err != nil {
		return nil, object.Thrown("%v.", err)
	}
	to := lang.Variable{Name: strings.ToLower(name)}
	if scope, rest, scoped := strings.Cut(to.Name, ":"); scoped {
		to = lang.Variable{Name: rest, Scope: scope}
	}
	list := &object.ArrayList{}
	if before := f.variable(to); more {
		if is, ok := before.(*object.ArrayList); ok {
			list = is
		} else {
			list.Items = slices.Clone(object.Items(before))
		}
	}

	return list, f.Assign(to, list)
}

// keptSink returns where the output of a call goes that keeps something.
func keptSink(k cmdlet.Kept, in *Interpreter, out *object.Sink) *object.Sink {
	if k == (cmdlet.Kept{}) {
		return out
	}
	next := in.apart(out)
	if k.Output != nil {
		put := next.Put
		next = &object.Sink{Put: func(v object.Value) error {
			k.Output.Items = append(k.Output.Items, v)
			return put(v)
		}}
	}

	return next
}

// advanced reports whether a function or block has the common parameters.
func advanced(s *lang.Script) bool {
	return s.Strict || slices.ContainsFunc(s.Params, func(p lang.Param) bool { return len(p.Roles) > 0 })
}

// takeCommon takes the common parameters out of a call's arguments.
func (f *frame) takeCommon(s *lang.Script, args []lang.Argument) (
	rest []lang.Argument, given map[string]object.Value, err error,
) {
	given = map[string]object.Value{}
	if !advanced(s) {
		return args, given, nil
	}
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		name := commonNamed(s, a.Param)
		isSwitch := slices.Contains([]string{cmdlet.VerboseName, cmdlet.WhatIfName, cmdlet.ConfirmName}, name)
		switch {
		case name == "":
			rest = append(rest, a)
			continue
		case isSwitch && a.X == nil:
			a.X = &lang.Literal{V: true}
		case !isSwitch && !slices.Contains(cmdlet.CommonValues(), name):
			return nil, nil, object.Thrown("The parameter -%s of a function is not part of Mullion's PowerShell.", name)
		case a.X == nil && (len(args) == 0 || args[0].Param != ""):
			return nil, nil, object.Raise(object.BindingException, "Missing an argument for parameter '"+name+"'.")
		case a.X == nil:
			a.X, args = args[0].X, args[1:]
		}
		v, err := f.value(a.X)
		if err != nil {
			return nil, nil, err
		}
		given[name] = object.Plain(v)
	}

	return rest, given, nil
}

// commonNamed returns the common parameter that a name means in a call of the script, "" for others.
func commonNamed(s *lang.Script, name string) string {
	if name == "" || ownsParameter(s, name) {
		return ""
	}
	common := cmdlet.CommonNamed(name)
	if common == "" && s.Asks {
		common = cmdlet.AskingNamed(name)
	}
	return common
}

// ownsParameter reports whether a name, an alias or the beginning of a name means parameters of the script's own.
func ownsParameter(s *lang.Script, name string) bool {
	return slices.ContainsFunc(s.Params, func(p lang.Param) bool {
		return strings.HasPrefix(p.Name, name) || slices.Contains(p.Aliases, name)
	})
}

// prefer sets the preferences of a function's scope that common parameters mean.
func (f *frame) prefer(given map[string]object.Value) error {
	if v, ok := given[cmdlet.ErrorAction]; ok {
		if err := binding.CheckPreference(cmdlet.ErrorAction, v); err != nil {
			return object.Thrown("%v.", err)
		}
		f.Vars["erroractionpreference"], _ = object.PreferenceType().Parsed(v)
	}

	if v, ok := given[cmdlet.WarningAction]; ok {
		if err := binding.CheckPreference(cmdlet.WarningAction, v); err != nil {
			return object.Thrown("%v.", err)
		}
		f.Vars["warningpreference"], _ = object.PreferenceType().Parsed(v)
	}

	if v, ok := given[cmdlet.WhatIfName]; ok {
		f.Vars[whatIf] = object.Truth(v)
	}
	if v, ok := given[cmdlet.ConfirmName]; ok {
		f.Vars[confirms] = "None"
		if object.Truth(v) {
			f.Vars[confirms] = "Low"
		}
	}

	if v, ok := given[cmdlet.VerboseName]; ok {
		name := "SilentlyContinue"
		if object.Truth(v) {
			name = "Continue"
		}
		f.Vars["verbosepreference"], _ = object.PreferenceType().Named(name)
	}

	return nil
}
