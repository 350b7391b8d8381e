package scope

import (
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/absent"
	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/words"
)

// scopeFor returns the frame that -Scope means: a name, or how many scopes further out.
func scopeFor(c *cmdlet.Call) (*Scope, error) {
	v, given := c.Values["scope"]
	if !given {
		return of(c), nil
	}
	if slices.Contains(lang.Scopes(), strings.ToLower(object.Text(v))) {
		return of(c).Named(strings.ToLower(object.Text(v))), nil
	}
	n, err := object.Integer(v)
	if err != nil || n < 0 {
		return nil, object.Thrown("%s : -Scope %s is not part of Mullion's PowerShell.", c.Name, object.Text(v))
	}
	s := of(c)
	for ; n > 0 && s.Parent != nil; n-- {
		s = s.Parent
	}
	return s, nil
}

// getVariable outputs variables by their names, or all of the script's.
func getVariable(c *cmdlet.Call) error {
	s, err := scopeFor(c)
	if err != nil {
		return err
	}
	wanted := c.Items("name")
	if len(wanted) == 0 {
		wanted = []object.Value{"*"}
	}
	for _, v := range wanted {
		if err := showVariables(c, s, object.Text(v)); err != nil {
			return err
		}
	}

	return nil
}

// showVariables outputs the variables that a name, perhaps with wild cards, means.
func showVariables(c *cmdlet.Call, s *Scope, wanted string) error {
	if slices.Contains(absent.Missing(), strings.ToLower(wanted)) {
		return object.Thrown("%s : the automatic variable $%s is not part of Mullion's PowerShell.", c.Name, wanted)
	}
	re, err := pattern.Wildcard(wanted)
	if err != nil {
		return err
	}
	found := []string{}
	for _, name := range slices.Sorted(maps.Keys(s.variableNames())) {
		if re.MatchString(name) {
			found = append(found, name)
		}
	}

	if !provider.HasWildcard(wanted) {
		found = []string{strings.ToLower(wanted)}
	}
	for _, name := range found {
		v, there := s.Find(name)
		switch {
		case !there:
			err = c.Fail(words.Errorf("Cannot find a variable with the name '%s'.", wanted))
		case c.Flags["valueonly"]:
			err = c.Out.Put(v)
		default:
			err = c.Out.Put(object.New("variable").Set("Name", name).Set("Value", v))
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// setVariable sets variables; New-Variable only those that are not there yet in their scope.
func setVariable(c *cmdlet.Call) error {
	s, err := scopeFor(c)
	if err != nil {
		return err
	}
	v := c.Values["value"]
	if _, given := c.Values["value"]; !given && c.Piped {
		v = object.One(c.Input)
	}
	for name := range object.Each(c.Values["name"]) {
		low := strings.ToLower(object.Text(name))
		if err := binding.Assignable(low); err != nil {
			return object.Thrown("%s : %v.", c.Name, err)
		}
		_, there := s.Vars[low]
		if there && c.Name == "New-Variable" && !c.Flags["force"] {
			if err := c.Fail(words.Errorf("A variable with name '%s' already exists.", object.Text(name))); err != nil {
				return err
			}
			continue
		}
		if err := s.Assign(lang.Variable{Name: low}, v); err != nil {
			return err
		}
		if c.Flags["passthru"] {
			if err := c.Out.Put(object.New("variable").Set("Name", object.Text(name)).Set("Value", v)); err != nil {
				return err
			}
		}
	}

	return nil
}

// removeVariable forgets variables; Clear-Variable only their values.
func removeVariable(c *cmdlet.Call) error {
	s, err := scopeFor(c)
	if err != nil {
		return err
	}
	for v := range object.Each(c.Values["name"]) {
		name := strings.ToLower(object.Text(v))
		if err := binding.Assignable(name); err != nil {
			return object.Thrown("%s : %v.", c.Name, err)
		}
		switch home := s.with(name); {
		case home == nil:
			if err := c.Fail(words.Errorf("Cannot find a variable with the name '%s'.", object.Text(v))); err != nil {
				return err
			}
		case c.Name == "Clear-Variable":
			home.Vars[name] = nil
		default:
			delete(home.Vars, name)
			delete(home.Types, name)
		}
	}

	return nil
}

// Cmdlets returns the cmdlets that work on names: variables, aliases, and how strict reading them is.
func Cmdlets() []cmdlet.Cmdlet {
	return append(slices.Concat(variableCmdlets(), aliasCmdlets()), strictCmdlet())
}

func variableCmdlets() []cmdlet.Cmdlet {
	named := func(c cmdlet.Cmdlet) cmdlet.Cmdlet {
		c.Values = append([]string{"name", "scope"}, c.Values...)
		c.Positions = append([]string{"name"}, c.Positions...)
		return c
	}

	set := func(c cmdlet.Cmdlet) cmdlet.Cmdlet {
		c.Values, c.Positions = []string{"value"}, []string{"value"}
		c.Flags = []string{"force", "passthru"}
		c.Run = setVariable
		c.Takes = "value"
		c.Needs = []string{"name"}
		return named(c)
	}

	return []cmdlet.Cmdlet{
		named(cmdlet.Cmdlet{
			Name:    "Get-Variable",
			Aliases: []string{"gv"},
			About:   "variables by their names; of PowerShell's own, those that are here",
			Run:     getVariable,
			Flags:   []string{"valueonly"},
		}),
		set(cmdlet.Cmdlet{
			Name:    "Set-Variable",
			Aliases: []string{"sv", "set"},
			About:   "sets variables",
		}),
		set(cmdlet.Cmdlet{
			Name:    "New-Variable",
			Aliases: []string{"nv"},
			About:   "sets variables that are not there yet",
		}),
		named(cmdlet.Cmdlet{
			Name:    "Remove-Variable",
			Aliases: []string{"rv"},
			About:   "forgets variables",
			Run:     removeVariable,
			Flags:   []string{"force"},
			Needs:   []string{"name"},
		}),
		named(cmdlet.Cmdlet{
			Name:    "Clear-Variable",
			Aliases: []string{"clv"},
			About:   "sets variables to nothing",
			Run:     removeVariable,
			Flags:   []string{"force"},
			Needs:   []string{"name"},
		}),
	}
}
