package engine

import (
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// Drive is alias:, function: or variable:, nil for another name (about_Providers).
func (f *frame) Drive(name string) cmdlet.Drive {
	switch name {
	case "alias":
		return aliasDrive{f}
	case "function":
		return functionDrive{f}
	case "variable":
		return variableDrive{f}
	}
	return nil
}

// driveItem returns what $function:name, $alias:name or $variable:name is.
func (f *frame) driveItem(v lang.Variable) (got object.Value, there bool) {
	d := f.Drive(v.Scope)
	if d == nil {
		return nil, false
	}
	return d.Content(v.Name)
}

// aliasDrive are the aliases that a session has made.
type aliasDrive struct{ f *frame }

func (d aliasDrive) Names() []string {
	names := slices.Collect(maps.Keys(d.f.in.aliases))
	for _, c := range d.f.in.cmdlets {
		for _, a := range c.Aliases {
			if d.f.in.cmdlets.Alias(a) {
				names = append(names, a)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (d aliasDrive) Content(name string) (object.Value, bool) {
	if of, there := d.f.in.aliases[strings.ToLower(name)]; there {
		return of, true
	}
	if c, found := d.f.in.cmdlets.Lookup(strings.ToLower(name)); found && d.f.in.cmdlets.Alias(strings.ToLower(name)) {
		return c.Name, true
	}
	return nil, false
}

func (d aliasDrive) Item(name string) (object.Value, bool) {
	of, there := d.Content(name)
	if !there {
		return nil, false
	}
	o := object.New("command").Set("CommandType", "Alias").Set("Name", name).Set("Version", "").Set("Source", "")
	o.Props["definition"], o.Props["displayname"] = of, name+" -> "+object.Text(of)
	return o, true
}

func (d aliasDrive) Set(name string, v object.Value) error {
	d.f.in.aliases[strings.ToLower(name)] = object.Text(v)
	return nil
}

func (d aliasDrive) Remove(name string) error {
	if _, there := d.f.in.aliases[strings.ToLower(name)]; !there {
		return words.Errorf("Alias %s cannot be removed because it is one of the session's own.", name)
	}
	delete(d.f.in.aliases, strings.ToLower(name))
	return nil
}

// functionDrive are the functions that can be called.
type functionDrive struct{ f *frame }

func (d functionDrive) Names() []string { return slices.Sorted(maps.Keys(d.f.functionNames())) }

func (d functionDrive) Content(name string) (object.Value, bool) {
	fn, there := d.f.function(strings.ToLower(name))
	if !there {
		return nil, false
	}
	return newBlock(fn), true
}

func (d functionDrive) Item(name string) (object.Value, bool) {
	fn, there := d.f.function(strings.ToLower(name))
	if !there {
		return nil, false
	}
	o := object.New("command").Set("CommandType", "Function").Set("Name", fn.Name).Set("Version", "").Set("Source", "")
	o.Props["definition"], o.Props["displayname"] = fn.Text, fn.Name
	o.Props["scriptblock"] = newBlock(fn)
	return o, true
}

func (d functionDrive) Set(name string, v object.Value) error {
	block, ok := v.(*object.ScriptBlock)
	if !ok {
		read, err := d.f.in.Read(object.Text(v))
		if err != nil {
			return err
		}
		block = read.(*object.ScriptBlock)
	}
	script := *scriptOf(block)
	script.Name = name
	d.f.functions[strings.ToLower(name)] = &script
	return nil
}

func (d functionDrive) Remove(name string) error {
	for s := d.f; s != nil; s = s.parent {
		if _, there := s.functions[strings.ToLower(name)]; there {
			delete(s.functions, strings.ToLower(name))
			return nil
		}
	}
	return nil
}

// variableDrive are the variables that can be read.
type variableDrive struct{ f *frame }

func (d variableDrive) Names() []string {
	names := map[string]bool{}
	for s := d.f; s != nil; s = s.parent {
		for name := range s.vars {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (d variableDrive) Content(name string) (object.Value, bool) {
	return d.f.find(strings.ToLower(name))
}

func (d variableDrive) Item(name string) (object.Value, bool) {
	v, there := d.Content(name)
	if !there {
		return nil, false
	}
	return object.New("variable").Set("Name", name).Set("Value", v), true
}

func (d variableDrive) Set(name string, v object.Value) error { return d.f.SetNamed(name, v) }

func (d variableDrive) Remove(name string) error {
	for s := d.f; s != nil; s = s.parent {
		if _, there := s.vars[strings.ToLower(name)]; there {
			delete(s.vars, strings.ToLower(name))
			return nil
		}
	}
	return nil
}

// mostAliases is how many aliases of aliases are followed.
const mostAliases = 16

// meant returns a stage whose command is an alias that the session has made, with the command that it stands for.
func (f *frame) meant(s lang.Stage) lang.Stage {
	if len(f.in.aliases) == 0 || s.X != nil || s.Word == "" {
		return s
	}
	for range mostAliases {
		of, there := f.in.aliases[strings.ToLower(s.Word)]
		if !there {
			return s
		}
		s.Word, s.Name = of, &lang.Literal{V: of}
	}
	return s
}

// setAlias is Set-Alias and New-Alias, which makes only what is not there yet.
func setAlias(c *cmdlet.Call) error {
	f := frameOf(c)
	name, of := c.Text("name"), c.Text("value")
	_, there := aliasDrive{f}.Content(name)
	if there && c.Name == "New-Alias" && !c.Flags["force"] {
		return c.Fail(words.Errorf("The alias is not allowed, because an alias with the name '%s' already exists.", name))
	}
	f.in.aliases[strings.ToLower(name)] = of
	if !c.Flags["passthru"] {
		return nil
	}
	o, _ := aliasDrive{f}.Item(name)
	return c.Out.Put(o)
}

func aliasCmdlets() []cmdlet.Cmdlet {
	alias := func(name, about string, aliases ...string) cmdlet.Cmdlet {
		return cmdlet.Cmdlet{
			Name: name, Aliases: aliases, About: about, Run: setAlias,
			Values:    []string{"name", "value", "description", "option", "scope"},
			Flags:     []string{"force", "passthru"},
			Positions: []string{"name", "value"},
			Needs:     []string{"name", "value"},
		}
	}
	return []cmdlet.Cmdlet{
		alias("Set-Alias", "gives a command another name in this session; whatever -Scope says", "sal"),
		alias("New-Alias", "gives a command another name in this session that is not taken", "nal"),
	}
}
