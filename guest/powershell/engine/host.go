package engine

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
)

// theHost returns $Host, which stays the same: scripts set its properties.
func (in *Interpreter) theHost() *object.Object {
	if in.host == nil {
		in.host = dotnet.Host(in.State)
	}
	return in.host
}

// executionContext returns $ExecutionContext, as far as scripts use it: the expansion of a text, and paths
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.engineintrinsics).
func (in *Interpreter) executionContext() *object.Object {
	commands := object.New(object.Custom)
	commands.AddMethod(object.Method{Name: "ExpandString", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
		return in.within().expandText(c.Text(0))
	}})
	commands.AddMethod(object.Method{Name: "NewScriptBlock", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
		return c.State.Read(c.Text(0))
	}})
	paths := object.New(object.Custom)
	for _, name := range []string{"GetUnresolvedProviderPathFromPSPath", "GetResolvedPSPathFromPSPath"} {
		paths.AddMethod(object.Method{Name: name, Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
			return c.State.Path(c.Text(0)), nil
		}})
	}

	state := object.New(object.Custom).Set("Path", paths).Set("LanguageMode", "FullLanguage")
	return object.New(object.Custom).Set("Host", in.theHost()).Set("InvokeCommand", commands).Set("SessionState", state)
}

// expandText returns a text with the values of the variables and expressions in it, as in quotation marks.
func (f *frame) expandText(text string) (object.Value, error) {
	quoted := strings.ReplaceAll(text, "\"", "`\"")
	script, err := lang.Parse("\""+quoted+"\"", "", dotnet.KnownType)
	if err != nil {
		return nil, late(err)
	}
	got, err := capture(script.Body, f, false)
	return object.One(got), err
}

// withDefaults adds the parameters that $PSDefaultParameterValues has for a cmdlet and that a call does not have
// (about_Parameters_Default_Values).
func (f *frame) withDefaults(c cmdlet.Cmdlet, b binding.Bound) error {
	t, ok := f.Get("psdefaultparametervalues").(*object.Hashtable)
	if !ok || len(t.Keys) == 0 || object.Truth(t.Get("Disabled")) {
		return nil
	}
	for _, k := range t.Keys {
		command, parameter, found := strings.Cut(object.Text(k), ":")
		re, err := pattern.Wildcard(command)
		if err != nil || !found || !re.MatchString(c.Name) {
			continue // such a key is for no cmdlet
		}

		name, _, err := c.Parameter(strings.ToLower(parameter))
		if err != nil || b[name] != nil || slices.Contains(cmdlet.CommonFlags(), name) {
			continue // a cmdlet without it has no default for it
		}
		v := t.Get(k)
		if block, is := v.(*object.ScriptBlock); is {
			var got []object.Value
			if err := f.RunWith(block, nil, nil, false, object.Collect(&got)); err != nil {
				return err
			}
			v = object.One(got)
		}
		b[name] = []lang.Expr{&lang.Literal{V: v}}
	}
	return nil
}
