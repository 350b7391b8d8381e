package engine

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// withDynamic returns a script with the parameters that its dynamicparam block gives it for a call, and what is to be
// done when they have values (about_Functions_Advanced_Parameters).
func (f *frame) withDynamic(scope *frame, s *lang.Script, args []lang.Argument) (
	*lang.Script, func(), error,
) {
	if s.Dynamic == nil {
		return s, func() {}, nil
	}
	probe := scope.child()
	if err := probe.known(f, s, args); err != nil {
		return nil, nil, err
	}

	var got []object.Value
	err := probe.runBlock(s.Dynamic, object.Collect(&got))
	if left, ok := err.(*object.Leaving); ok && left.Word == "return" { //nolint:errorlint // it is made here
		err = nil
	}

	if err != nil {
		return nil, nil, err
	}

	more := *s
	more.Params = append([]lang.Param(nil), s.Params...)
	made := map[string]*dotnet.DynamicParameter{}
	for _, v := range got {
		table, ok := v.(*object.Hashtable)
		if !ok {
			continue // what it outputs beside is lost, as there
		}
		for _, k := range table.Keys {
			p := object.Own[*dotnet.DynamicParameter](table.Get(k))
			if p == nil {
				const class = "System.Management.Automation.RuntimeDefinedParameter"
				return nil, nil, object.CannotConvert(table.Get(k), class)
			}
			made[strings.ToLower(p.Name)] = p
			more.Params = append(more.Params, parameterOf(p))
		}
	}

	return &more, func() { scope.dynamic(made, probe) }, nil
}

// dynamic gives what a dynamicparam block made the values of a call. They are in $PSBoundParameters, not in variables;
// the variables of the block stay.
func (f *frame) dynamic(made map[string]*dotnet.DynamicParameter, block *frame) {
	bound, ok := f.Vars["psboundparameters"].(*object.Hashtable)
	for name, p := range made {
		if ok {
			p.Value, p.Set = bound.Get(p.Name), bound.Has(p.Name)
		}
		delete(f.Vars, name)
		delete(f.Types, name)
	}

	for name, v := range block.Vars {
		if _, there := f.Vars[name]; !there {
			f.Vars[name] = v
		}
	}
}

// known gives a scope the values of the parameters that a call names and a script has; others may be dynamic ones.
func (f *frame) known(caller *frame, s *lang.Script, args []lang.Argument) error {
	given := map[string]bool{}
	var rest []object.Value
	for i := 0; i < len(args); i++ {
		a := args[i]
		p, err := lang.Param{}, error(nil)
		if a.Param != "" {
			if p, err = param(s, a.Param); err != nil && a.X == nil && i+1 < len(args) && args[i+1].Param == "" {
				i++ // the value of a parameter that is not known yet
			}
		}
		switch {
		case err != nil:
			continue
		case a.Param != "" && a.X == nil && p.To != "switch" && i+1 < len(args):
			i++
			a.X = args[i].X
		}

		v, err := caller.valueOrTrue(a.X)
		if err != nil {
			return err
		}
		if a.Param == "" {
			rest = append(rest, object.Plain(v))
			continue
		}

		given[p.Name] = true
		if err := f.give(p, v); err != nil {
			return err
		}
	}

	_, err := f.byPlace(s, given, rest)
	f.Vars["psboundparameters"] = object.NewTable(false)
	f.bound(s, given)
	return err
}

// parameterOf returns a dynamic parameter as one of a script.
func parameterOf(p *dotnet.DynamicParameter) lang.Param {
	of := lang.Param{
		Name:    strings.ToLower(p.Name),
		Written: p.Name,
		To:      words.TypeName(p.Type),
	}

	if of.To == "object" {
		of.To = ""
	}

	for _, v := range p.Attributes {
		a := object.Own[*dotnet.Attribute](v)
		if a == nil {
			continue
		}
		truth := func(name string) bool { return object.Truth(a.Named[name]) }
		switch _, condition := lang.Conditions()[a.Name]; {
		case a.Name == "parameter":
			role := lang.Role{
				Set: object.Text(a.Named["parametersetname"]), Mandatory: truth("mandatory"), Piped: truth("valuefrompipeline"),
				PipedName: truth("valuefrompipelinebypropertyname"), Remaining: truth("valuefromremainingarguments"),
			}
			if role.Set == "__AllParameterSets" {
				role.Set = ""
			}
			if n, ok := object.Plain(a.Named["position"]).(int64); ok {
				role.Position = &n
			}

			of.Roles = append(of.Roles, role)
		case a.Name == "alias":
			for _, name := range a.Args {
				of.Aliases = append(of.Aliases, strings.ToLower(object.Text(name)))
			}
		case condition:
			one := lang.Condition{Name: a.Name}
			for _, arg := range a.Args {
				one.Args = append(one.Args, &lang.Literal{V: arg})
			}
			of.Conditions = append(of.Conditions, one)
		}
	}

	return of
}
