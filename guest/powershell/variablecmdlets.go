package powershell

import (
	"maps"
	"slices"
)

// scopeOf is the frame that -Scope means: a name, or how many scopes further out.
func (c *call) scopeOf() (*frame, error) {
	v, given := c.values["scope"]
	if !given {
		return c.f, nil
	}
	if slices.Contains(scopes(), lower(text(v))) {
		return c.f.scope(lower(text(v))), nil
	}
	n, err := integer(v)
	if err != nil || n < 0 {
		return nil, thrown("%s : -Scope %s is not part of Mullion's PowerShell.", c.name, text(v))
	}
	f := c.f
	for ; n > 0 && f.parent != nil; n-- {
		f = f.parent
	}
	return f, nil
}

// getVariable outputs variables by their names, or all of the script's.
func getVariable(c *call) error {
	f, err := c.scopeOf()
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for s := f; s != nil; s = s.parent {
		for name := range s.vars {
			names[name] = true
		}
	}
	wanted := c.items("name")
	if len(wanted) == 0 {
		wanted = []value{"*"}
	}
	for _, v := range wanted {
		if err := c.showVariables(f, names, text(v)); err != nil {
			return err
		}
	}
	return nil
}

// showVariables outputs the variables that a name, perhaps with wild cards, means.
func (c *call) showVariables(f *frame, names map[string]bool, wanted string) error {
	if slices.Contains(missing(), lower(wanted)) {
		return thrown("%s : the automatic variable $%s is not part of Mullion's PowerShell.", c.name, wanted)
	}
	re, err := wildcard(wanted)
	if err != nil {
		return err
	}
	found := []string{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if re.MatchString(name) {
			found = append(found, name)
		}
	}
	if !hasWildcard(wanted) {
		found = []string{lower(wanted)}
	}
	for _, name := range found {
		v, there := f.find(name)
		switch {
		case !there:
			err = c.fail(itsWords("Cannot find a variable with the name '%s'.", wanted))
		case c.flags["valueonly"]:
			err = c.out.put(v)
		default:
			err = c.out.put(newObject("variable").set("Name", name).set("Value", v))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setVariable sets variables; New-Variable only those that are not there yet in their scope.
func setVariable(c *call) error {
	f, err := c.scopeOf()
	if err != nil {
		return err
	}
	v := c.values["value"]
	if _, given := c.values["value"]; !given && c.piped {
		v = one(c.input)
	}
	for name := range each(c.values["name"]) {
		low := lower(text(name))
		if err := assignable(low); err != nil {
			return thrown("%s : %v.", c.name, err)
		}
		_, there := f.vars[low]
		if there && c.name == "New-Variable" && !c.flags["force"] {
			if err := c.fail(itsWords("A variable with name '%s' already exists.", text(name))); err != nil {
				return err
			}
			continue
		}
		if err := f.assign(variable{name: low}, v); err != nil {
			return err
		}
		if c.flags["passthru"] {
			if err := c.out.put(newObject("variable").set("Name", text(name)).set("Value", v)); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeVariable forgets variables; Clear-Variable only their values.
func removeVariable(c *call) error {
	f, err := c.scopeOf()
	if err != nil {
		return err
	}
	for v := range each(c.values["name"]) {
		name := lower(text(v))
		if err := assignable(name); err != nil {
			return thrown("%s : %v.", c.name, err)
		}
		s := f
		for s != nil && !slices.Contains(slices.Collect(maps.Keys(s.vars)), name) {
			s = s.parent
		}
		switch {
		case s == nil:
			if err := c.fail(itsWords("Cannot find a variable with the name '%s'.", text(v))); err != nil {
				return err
			}
		case c.name == "Clear-Variable":
			s.vars[name] = nil
		default:
			delete(s.vars, name)
			delete(s.types, name)
		}
	}
	return nil
}

func variableCmdlets() []cmdlet {
	named := func(c cmdlet) cmdlet {
		c.values = append([]string{"name", "scope"}, c.values...)
		c.positions = append([]string{"name"}, c.positions...)
		return c
	}
	set := func(c cmdlet) cmdlet {
		c.values, c.positions = []string{"value"}, []string{"value"}
		c.flags = []string{"force", "passthru"}
		c.run = setVariable
		c.takes = "value"
		c.needs = []string{"name"}
		return named(c)
	}
	return []cmdlet{
		named(cmdlet{
			name:    "Get-Variable",
			aliases: []string{"gv"},
			about:   "variables by their names; of PowerShell's own, those that are here",
			run:     getVariable,
			flags:   []string{"valueonly"},
		}),
		set(cmdlet{name: "Set-Variable", aliases: []string{"sv", "set"}, about: "sets variables"}),
		set(cmdlet{name: "New-Variable", aliases: []string{"nv"}, about: "sets variables that are not there yet"}),
		named(cmdlet{
			name:    "Remove-Variable",
			aliases: []string{"rv"},
			about:   "forgets variables",
			run:     removeVariable,
			flags:   []string{"force"},
			needs:   []string{"name"},
		}),
		named(cmdlet{
			name:    "Clear-Variable",
			aliases: []string{"clv"},
			about:   "sets variables to nothing",
			run:     removeVariable,
			flags:   []string{"force"},
			needs:   []string{"name"},
		}),
	}
}
