package powershell

import (
	"fmt"
	"slices"
	"strings"
)

// The parameters that every cmdlet has, and every function with [CmdletBinding()] or [Parameter()]
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_commonparameters).
const (
	common        = "erroraction" // what is done on errors
	errorVariable = "errorvariable"
	outVariable   = "outvariable"
	verboseName   = "verbose"
)

// commonNames are the names of common parameters, each with its alias.
func commonNames() map[string]string {
	return map[string]string{
		common: "ea", errorVariable: "ev", outVariable: "ov", verboseName: "vb", "debug": "db", "warningaction": "wa",
		"informationaction": "infa", "warningvariable": "wv", "informationvariable": "iv", "outbuffer": "ob",
		"pipelinevariable": "pv",
	}
}

// commonValues are the common parameters with a value that are implemented.
func commonValues() []string { return []string{common, errorVariable, outVariable} }

// commonFlags are the flags that every cmdlet has. The cmdlets here have nothing more to say with -Verbose and -Debug,
// and ask nobody, so of -Confirm only -Confirm:$false is accepted.
func commonFlags() []string { return []string{verboseName, "debug", "confirm"} }

// commonNamed is the common parameter that a name, an alias or the beginning of one name only means, "" if none.
func commonNamed(name string) string {
	var found []string
	for full, alias := range commonNames() {
		if full == name || alias == name {
			return full
		}
		if strings.HasPrefix(full, name) {
			found = append(found, full)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// kept is what -ErrorVariable and -OutVariable of a call keep.
type kept struct{ errors, output *arrayList }

// keeps makes the variables of a call, which values names, in the scope that calls.
func (f *frame) keeps(values map[string]value) (k kept, err error) {
	for name, list := range map[string]**arrayList{errorVariable: &k.errors, outVariable: &k.output} {
		v, given := values[name]
		if !given {
			continue
		}
		if *list, err = f.listVariable(text(v)); err != nil {
			return kept{}, err
		}
	}
	return k, nil
}

// listVariable makes a variable a new list, or with a + before its name a list that begins with what it has.
func (f *frame) listVariable(name string) (*arrayList, error) {
	name, more := strings.CutPrefix(name, "+")
	if err := badVariable(name); err != nil {
		return nil, thrown("%v.", err)
	}
	to := variable{name: lower(name)}
	if scope, rest, scoped := strings.Cut(to.name, ":"); scoped {
		to = variable{name: rest, scope: scope}
	}
	list := &arrayList{}
	if before := f.variable(to); more {
		if is, ok := before.(*arrayList); ok {
			list = is
		} else {
			list.items = slices.Clone(itemsOf(before))
		}
	}
	return list, f.assign(to, list)
}

// badVariable refuses the name of a variable that a call cannot set.
func badVariable(name string) error {
	name = strings.TrimPrefix(lower(name), "+")
	if scope, rest, scoped := strings.Cut(name, ":"); scoped && slices.Contains(scopes(), scope) {
		name = rest
	}
	if name == "" || strings.Contains(name, ":") {
		return fmt.Errorf("a result in the variable %q is %s", name, notHereWords)
	}
	if _, is := preferences()[name]; is {
		return fmt.Errorf("a result in $%s is %s", name, notHereWords)
	}
	return assignable(name)
}

// sink is where the output of a call goes that keeps something.
func (k kept) sink(in *interpreter, out *sink) *sink {
	if k == (kept{}) {
		return out
	}
	next := in.apart(out)
	if k.output != nil {
		put := next.put
		next = &sink{put: func(v value) error {
			k.output.items = append(k.output.items, v)
			return put(v)
		}}
	}
	return next
}

// advanced reports whether a function or block has the common parameters.
func (s *Script) advanced() bool {
	return s.strict || slices.ContainsFunc(s.params, func(p param) bool { return p.declared })
}

// takeCommon takes the common parameters out of a call's arguments.
func (s *Script) takeCommon(caller *frame, args []argument) (rest []argument, given map[string]value, err error) {
	given = map[string]value{}
	if !s.advanced() {
		return args, given, nil
	}
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		name := ""
		if a.param != "" && !s.owns(a.param) {
			name = commonNamed(a.param)
		}
		switch {
		case name == "":
			rest = append(rest, a)
			continue
		case name == verboseName && a.x == nil:
			a.x = &literal{true}
		case name != verboseName && !slices.Contains(commonValues(), name):
			return nil, nil, thrown("The parameter -%s of a function is not part of Mullion's PowerShell.", name)
		case a.x == nil && (len(args) == 0 || args[0].param != ""):
			return nil, nil, raise(bindingException, "Missing an argument for parameter '"+name+"'.")
		case a.x == nil:
			a.x, args = args[0].x, args[1:]
		}
		v, err := a.x.value(caller)
		if err != nil {
			return nil, nil, err
		}
		given[name] = plain(v)
	}
	return rest, given, nil
}

// owns reports whether a name, an alias or the beginning of a name means parameters of the script's own.
func (s *Script) owns(name string) bool {
	return slices.ContainsFunc(s.params, func(p param) bool {
		return strings.HasPrefix(p.name, name) || slices.Contains(p.aliases, name)
	})
}

// prefer sets the preferences of a function's scope that common parameters mean.
func (f *frame) prefer(given map[string]value) error {
	if v, ok := given[common]; ok {
		if err := checkPreference(common, v); err != nil {
			return thrown("%v.", err)
		}
		f.vars["erroractionpreference"], _ = preferenceType().parsed(v)
	}
	if v, ok := given[verboseName]; ok {
		name := "SilentlyContinue"
		if truth(v) {
			name = "Continue"
		}
		f.vars["verbosepreference"], _ = preferenceType().named(name)
	}
	return nil
}
