package completion

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// commands returns the commands whose names begin with a word: cmdlets and functions, then aliases, then programs.
func (s Session) commands(w word) []string {
	if w.quote != 0 || w.text == "" || strings.ContainsAny(w.text, `\/:'"`) || strings.HasPrefix(w.text, ".") {
		return nil
	}
	return s.commandsNamed(w.text)
}

func (s Session) commandsNamed(prefix string) []string {
	var names, aliases []string
	for _, c := range s.Scope.Table() {
		if begins(c.Name, prefix) {
			names = append(names, c.Name)
		}
	}

	for name := range s.Scope.FunctionTexts() {
		if begins(name, prefix) {
			names = append(names, name)
		}
	}

	for _, name := range s.Scope.Drive("alias").Names() {
		if begins(name, prefix) {
			aliases = append(aliases, name)
		}
	}

	return slices.Concat(sorted(names), sorted(aliases), sorted(s.programs(prefix)))
}

// programs returns the programs in the folders of PATH whose names begin with a text.
func (s Session) programs(prefix string) []string {
	var names []string
	for _, dir := range filepath.SplitList(s.State.Env["PATH"]) {
		items, err := os.ReadDir(strings.Trim(dir, `"`))
		if err != nil || dir == "" {
			continue // PATH may name folders that are not there
		}
		for _, item := range items {
			if begins(item.Name(), prefix) && !item.IsDir() && s.State.Runs(item.Name()) {
				names = append(names, item.Name())
			}
		}
	}
	return names
}

// found returns the cmdlet that a word names, by its alias too.
func (s Session) found(command string) (cmdlet.Cmdlet, bool) {
	name := strings.ToLower(strings.Trim(command, `'"`))
	if of, is := s.Scope.Drive("alias").Content(name); is {
		name = strings.ToLower(object.Text(of))
	}
	return s.Scope.Table().Lookup(name)
}

// function returns the parameters of a function, as they are written.
func (s Session) function(command string) ([]lang.Param, bool) {
	v, there := s.Scope.Drive("function").Content(strings.ToLower(command))
	block, is := v.(*object.ScriptBlock)
	if !there || !is {
		return nil, false
	}
	return lang.ScriptOf(block).Params, true
}

// parameters returns the parameters of a command that begin with what is typed.
func (s Session) parameters(command, typed string) []string {
	var own []string
	if params, is := s.function(command); is {
		for _, p := range params {
			own = append(own, strings.TrimPrefix(p.Written, "$"))
		}
	} else if c, is := s.found(command); is {
		own = slices.Concat(c.Values, c.Flags)
	} else {
		return nil
	}

	var names, common []string
	for _, name := range own {
		if written := "-" + cmdlet.Written(name); begins(written, typed) {
			names = append(names, written)
		}
	}
	for _, name := range slices.Concat(cmdlet.CommonValues(), cmdlet.CommonFlags()) {
		if written := "-" + cmdlet.Written(name); begins(written, typed) {
			common = append(common, written)
		}
	}

	return slices.Concat(names, sorted(common)) // as there, in the order in which the command has them
}

// values returns what may stand as the value of the parameter before a word, or as the first argument of its command.
// known is false for an argument that may be anything.
func (s Session) values(command string, w word) (values []string, known bool) {
	c, is := s.found(command)
	if !is {
		return nil, false
	}

	parameter := ""
	last := w.before[len(w.before)-1]
	switch {
	case len(w.before) == 1:
		if len(c.Positions) > 0 {
			parameter = c.Positions[0]
		}
	case strings.HasPrefix(last, "-"):
		name, flag, err := c.Parameter(strings.ToLower(last[1:]))
		if err != nil || flag {
			return nil, false
		}
		parameter = name
	default:
		return nil, false
	}

	all, known := s.possible(c, parameter)
	typed := strings.Trim(w.text, `'"`)
	for _, v := range all {
		if begins(v, typed) {
			values = append(values, quotedIfNeeded(v, w.quote))
		}
	}

	return values, known
}

// actions returns the values of -ErrorAction and -WarningAction
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_commonparameters).
func actions() []string {
	return []string{"Continue", "Ignore", "Inquire", "SilentlyContinue", "Stop"}
}

// possible returns all values of a parameter.
func (s Session) possible(c cmdlet.Cmdlet, parameter string) (all []string, known bool) {
	switch {
	case parameter == cmdlet.ErrorAction || parameter == cmdlet.WarningAction:
		return actions(), true
	case len(c.Allowed[parameter]) > 0:
		for _, v := range c.Allowed[parameter] {
			all = append(all, cmdlet.Written(v))
		}
		return all, true
	case parameter == "name":
		return s.names(c.Name[strings.IndexByte(c.Name, '-')+1:])
	}
	return nil, false
}

// names returns the names of all that a noun stands for. known is false if what it stands for has none to choose from.
func (s Session) names(noun string) (all []string, known bool) {
	switch noun {
	case "Service":
		return s.services()
	case "Process":
		return s.processes()
	case "Command", "Help":
		return s.commandsNamed(""), true
	case "Variable":
		return s.Scope.Drive("variable").Names(), true
	}
	return nil, false
}

func (s Session) services() (names []string, known bool) {
	services, err := s.State.System.Services()
	if err != nil {
		return nil, false
	}
	for _, one := range services {
		names = append(names, one.Name)
	}
	return sorted(names), true
}

func (s Session) processes() (names []string, known bool) {
	processes, err := s.State.System.Processes()
	if err != nil {
		return nil, false
	}
	for _, one := range processes {
		names = append(names, strings.TrimSuffix(one.Name, ".exe"))
	}
	return sorted(names), true
}
