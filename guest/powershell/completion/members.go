package completion

import (
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

var (
	// variable matches a variable that is being typed at the end of a word.
	variable = lazyregexp.New(`\$(\{?)((?:[A-Za-z]+:)?)([\w?]*)$`)
	// member matches a member that is being typed, of a variable or of a member of it.
	member = lazyregexp.New(`\$\{?((?:[A-Za-z]+:)?\w+)\}?((?:\.\w+|\[\d+\])*)\.(\w*)$`)
	// static matches a static member that is being typed, and openType a type.
	static   = lazyregexp.New(`\[([\w.]+)\]::(\w*)$`)
	openType = lazyregexp.New(`\[([\w.]+)$`)
	// step matches a member or an index in what member matches.
	step = lazyregexp.New(`\.(\w+)|\[(\d+)\]`)
)

// ofVariable returns the completions of a word that ends in a variable, or in a member of one. is says that it does.
func (s Session) ofVariable(w word) (part string, matches []string, is bool) {
	if w.quote == '\'' {
		return "", nil, false
	}
	if m := variable.FindStringSubmatch(w.text); m != nil {
		return m[0], s.variables(m[1], m[2], m[3]), true
	}
	if m := member.FindStringSubmatch(w.text); m != nil && w.quote == 0 {
		return m[3], s.members(m[1], m[2], m[3]), true
	}
	return "", nil, false
}

// automatic returns the names of PowerShell's own variables, which lie in no scope
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_automatic_variables).
func automatic() []string {
	return strings.Fields("Error ErrorActionPreference ErrorView Env ExecutionContext false HOME Host input LASTEXITCODE Matches " +
		"MyInvocation null PID PROFILE ProgressPreference PSBoundParameters PSCmdlet PSCommandPath PSCulture " +
		"PSDefaultParameterValues PSHOME PSScriptRoot PSUICulture PSVersionTable PWD ShellId StackTrace this true " +
		"VerbosePreference WarningPreference")
}

// variables returns the variables of a scope or drive whose names begin with what is typed.
func (s Session) variables(brace, scope, typed string) []string {
	var found []string
	for _, name := range s.variablesOf(scope) {
		if !begins(name, typed) || strings.ContainsAny(name, "=") {
			continue
		}
		if isWord(name) && brace == "" {
			found = append(found, "$"+scope+name)
		} else {
			found = append(found, "${"+scope+name+"}")
		}
	}

	return sorted(found)
}

// variablesOf returns the names of all variables of a scope or drive.
func (s Session) variablesOf(scope string) []string {
	switch strings.ToLower(scope) {
	case "env:":
		return slices.Collect(maps.Keys(s.State.Env))
	case "", "global:", "script:", "local:", "variable:":
		return slices.Concat(s.Scope.Drive("variable").Names(), automatic())
	case "function:", "alias:":
		return s.Scope.Drive(strings.TrimSuffix(strings.ToLower(scope), ":")).Names()
	}
	return nil
}

// isWord reports whether a name stands without braces: it has letters, digits and _ alone.
func isWord(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// members returns the members of a variable's value, or of one of its members, that begin with what is typed. A method
// is written with its bracket.
func (s Session) members(name, path, typed string) []string {
	if strings.HasPrefix(strings.ToLower(name), "env:") {
		return membersOf(s.State.Env[strings.ToUpper(name[4:])], typed)
	}
	if _, rest, scoped := strings.Cut(name, ":"); scoped {
		name = rest
	}
	v, there := s.Scope.Drive("variable").Content(strings.ToLower(name))
	if !there {
		return nil
	}

	for _, m := range step.FindAllStringSubmatch(path, -1) {
		if m[1] == "" {
			at, err := object.Integer(m[2])
			items := object.Items(v)
			if err != nil || at >= int64(len(items)) {
				return nil
			}
			v = items[at]
			continue
		}

		if o, is := v.(*object.Object); is {
			if _, computed := o.Props[strings.ToLower(m[1])].(*object.Computed); computed {
				return nil // a script computes it: to complete a word runs nothing
			}
		}
		var err error
		if v, err = object.Property(v, strings.ToLower(m[1])); err != nil {
			return nil
		}
	}
	return membersOf(v, typed)
}

func membersOf(v object.Value, typed string) []string {
	var names []string
	if list, is := v.([]object.Value); is && len(list) > 0 {
		names = append(names, "Count", "Length")
		v = list[0]
	}

	properties := object.PropertyNames(v)
	if t, is := v.(*object.Hashtable); is {
		for _, k := range t.Keys {
			properties = append(properties, object.Text(k))
		}
	}
	names = append(names, properties...)
	if c := object.ClassOf(v); c != nil {
		for _, p := range c.Props {
			names = append(names, p.Name)
		}
		names = append(names, methods(c.Methods)...)
	}
	if v != nil {
		names = append(names, methods(object.EveryClass().Methods)...)
	}
	return beginning(names, typed)
}

func methods(all []object.Method) []string {
	var names []string
	for _, m := range all {
		names = append(names, m.Name+"(")
	}
	return names
}

// beginning returns the names that begin with what is typed.
func beginning(names []string, typed string) []string {
	names = slices.DeleteFunc(names, func(name string) bool { return !begins(name, typed) })
	return sorted(names)
}

// ofType returns the completions of a word that ends in a type, or in a static member of one. is says that it does.
func ofType(text string) (part string, matches []string, is bool) {
	if m := static.FindStringSubmatch(text); m != nil {
		return m[2], statics(m[1], m[2]), true
	}
	if m := openType.FindStringSubmatch(text); m != nil {
		return m[1], types(m[1]), true
	}
	return "", nil, false
}

func statics(of, typed string) []string {
	var names []string
	if e := object.EnumOf(of); e != nil {
		for _, v := range e.Values {
			names = append(names, v.Name)
		}
	}
	if c := dotnet.ClassNamed(of); c != nil {
		for _, f := range c.Fields {
			names = append(names, f.Name)
		}
		names = append(names, methods(c.Calls)...)
	}
	return beginning(names, typed)
}

// types returns the types whose names begin with what is typed, or whose last parts do.
func types(typed string) []string {
	var names []string
	for _, c := range dotnet.Classes() {
		name := strings.TrimSuffix(c.Name, "[]")
		last := name[strings.LastIndexByte(name, '.')+1:]
		short := !strings.Contains(typed, ".") && begins(last, typed)
		if !strings.ContainsAny(name, "` ") && (begins(name, typed) || short) {
			names = append(names, name)
		}
		for _, other := range c.Others {
			if begins(other, typed) {
				names = append(names, other)
			}
		}
	}
	return sorted(names)
}
