package scope

import (
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// Drive returns alias:, function: or variable:, nil for another name (about_Providers).
func (s *Scope) Drive(name string) cmdlet.Drive {
	switch name {
	case "alias":
		return aliasDrive{s}
	case "function":
		return functionDrive{s}
	case "variable":
		return variableDrive{s}
	}

	return nil
}

// DriveItem returns what $function:name, $alias:name or $variable:name is.
func (s *Scope) DriveItem(v lang.Variable) (got object.Value, there bool) {
	d := s.Drive(v.Scope)
	if d == nil {
		return nil, false
	}
	return d.Content(v.Name)
}

// aliasDrive are the aliases that a session has made.
type aliasDrive struct{ s *Scope }

func (d aliasDrive) Names() []string {
	names := slices.Collect(maps.Keys(d.s.Session.aliases))
	for _, c := range d.s.Session.Cmdlets {
		for _, a := range c.Aliases {
			if d.s.Session.Cmdlets.Alias(a) {
				names = append(names, a)
			}
		}
	}

	slices.Sort(names)
	return slices.Compact(names)
}

func (d aliasDrive) Content(name string) (object.Value, bool) {
	if of, there := d.s.Session.aliases[strings.ToLower(name)]; there {
		return of, true
	}
	known, name := d.s.Session.Cmdlets, strings.ToLower(name)
	if c, found := known.Lookup(name); found && known.Alias(name) {
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
	d.s.Session.aliases[strings.ToLower(name)] = object.Text(v)
	return nil
}

func (d aliasDrive) Remove(name string) error {
	if _, there := d.s.Session.aliases[strings.ToLower(name)]; !there {
		return words.Errorf("Alias %s cannot be removed because it is one of the session's own.", name)
	}
	delete(d.s.Session.aliases, strings.ToLower(name))
	return nil
}

// functionDrive are the functions that can be called.
type functionDrive struct{ s *Scope }

func (d functionDrive) Names() []string { return slices.Sorted(maps.Keys(d.s.FunctionNames())) }

func (d functionDrive) Content(name string) (object.Value, bool) {
	fn, there := d.s.Function(strings.ToLower(name))
	if !there {
		return nil, false
	}
	return fn.Block(), true
}

func (d functionDrive) Item(name string) (object.Value, bool) {
	fn, there := d.s.Function(strings.ToLower(name))
	if !there {
		return nil, false
	}
	o := object.New("command").Set("CommandType", "Function").Set("Name", fn.Name).Set("Version", "").Set("Source", "")
	o.Props["definition"], o.Props["displayname"] = fn.Text, fn.Name
	o.Props["scriptblock"] = fn.Block()
	return o, true
}

func (d functionDrive) Set(name string, v object.Value) error {
	block, ok := v.(*object.ScriptBlock)
	if !ok {
		var err error
		if block, err = d.s.Session.Host.Read(object.Text(v)); err != nil {
			return err
		}
	}

	script := *lang.ScriptOf(block)
	script.Name = name
	d.s.Functions[strings.ToLower(name)] = &script
	return nil
}

func (d functionDrive) Remove(name string) error {
	for s := d.s; s != nil; s = s.Parent {
		if _, there := s.Functions[strings.ToLower(name)]; there {
			delete(s.Functions, strings.ToLower(name))
			return nil
		}
	}

	return nil
}

// variableDrive are the variables that can be read.
type variableDrive struct{ s *Scope }

func (d variableDrive) Names() []string {
	return slices.Sorted(maps.Keys(d.s.variableNames()))
}

func (d variableDrive) Content(name string) (object.Value, bool) {
	return d.s.Find(strings.ToLower(name))
}

func (d variableDrive) Item(name string) (object.Value, bool) {
	v, there := d.Content(name)
	if !there {
		return nil, false
	}
	return object.New("variable").Set("Name", name).Set("Value", v), true
}

func (d variableDrive) Set(name string, v object.Value) error { return d.s.SetNamed(name, v) }

func (d variableDrive) Remove(name string) error {
	if home := d.s.with(strings.ToLower(name)); home != nil {
		delete(home.Vars, strings.ToLower(name))
	}
	return nil
}
