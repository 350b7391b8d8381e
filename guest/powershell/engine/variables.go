package engine

import (
	"os"
	"strings"

	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/stream"
)

// Preference returns what a preference asks for in this scope, in lower case.
func (f *frame) Preference(name string) string { return binding.ActionOf(f.get(name)) }

// get returns the value of a variable of this scope or one around it, $null if it is not there.
func (f *frame) get(name string) object.Value {
	v, _ := f.find(name)
	return v
}

// find finds a variable of this scope or one around it, or one of PowerShell's own.
func (f *frame) find(name string) (v object.Value, there bool) {
	for s := f; s != nil; s = s.parent {
		if v, ok := s.vars[name]; ok {
			return v, true
		}
	}
	return f.own(name)
}

// own returns a variable of PowerShell's own.
func (f *frame) own(name string) (v object.Value, there bool) {
	switch name {
	case "?":
		return f.in.OK, true
	case "lastexitcode":
		return f.in.lastExit, true
	case "true":
		return true, true
	case "false":
		return false, true
	case "pwd":
		return provider.Location(f.in.Dir), true
	case "pid":
		return int64(os.Getpid()), true
	case "home":
		return f.in.home(), true
	case "pscommandpath", "psscriptroot": // outside of a file
		return "", true
	case "error":
		return f.in.failures, true
	case "myinvocation": // outside of a file
		return f.in.whole().Value(), true
	case "psedition":
		return "Desktop", true
	case "psculture", "psuiculture":
		return "en-US", true
	case "shellid":
		return "Microsoft.PowerShell", true
	case "pshome":
		return f.in.folder(), true
	case "profile":
		return object.Text(f.in.home()) + `\Documents\WindowsPowerShell\Microsoft.PowerShell_profile.ps1`, true
	case "psboundparameters":
		return object.NewTable(false), true
	case "psversiontable":
		return f.in.versions(), true
	case "matches":
		return f.in.matched()
	case whatIf:
		return false, true
	case confirms:
		return "High", true
	case "host":
		return f.in.theHost(), true
	case "executioncontext":
		return f.in.executionContext(), true
	case "outputencoding":
		return &object.Instance{Of: stream.EncodingClass(), V: stream.EncodingNamed("ascii")}, true
	case "psdefaultparametervalues":
		return f.in.defaults, true
	case "errorview":
		return "NormalView", true
	case "formatenumerationlimit":
		return int64(4), true
	case "maximumerrorcount":
		return int64(object.MostErrors), true
	case "maximumaliascount", "maximumdrivecount", "maximumfunctioncount", "maximumhistorycount", "maximumvariablecount":
		return int64(4096), true
	case "stacktrace", "psemailserver":
		return "", true
	case "null", "args", "_", "input", "pscmdlet":
		return nil, true
	}
	if v, ok := binding.Preferences()[name]; ok {
		is, _ := object.PreferenceType().Named(v)
		return is, true
	}
	return nil, false
}

// matched is $Matches, which is not there before the first -match that fits.
func (in *Interpreter) matched() (v object.Value, there bool) {
	if in.matches == nil {
		return nil, false
	}
	return in.matches, true
}

// versions is $PSVersionTable: those of Windows PowerShell on this Windows, without those of parts that are not here,
// and with whose PowerShell it is.
func (in *Interpreter) versions() object.Value {
	build := "0"
	if version, err := in.System.Version(); err == nil {
		build = version[strings.LastIndex(version, ".")+1:]
	}
	t := object.NewTable(false)
	t.Set("PSVersion", library.VersionValue("5.1."+build))
	t.Set("PSEdition", "Desktop")
	t.Set("BuildVersion", library.VersionValue("10.0."+build))
	t.Set("Implementation", "Mullion")
	return t
}

// home returns the user's folder.
func (in *Interpreter) home() object.Value {
	names := []string{"HOME"}
	if in.Windows() {
		names = []string{"USERPROFILE"}
	}
	for _, name := range names {
		if v, ok := in.Env[name]; ok {
			return v
		}
	}
	return nil
}

// folder returns where PowerShell is.
func (in *Interpreter) folder() string {
	root := in.Env["SYSTEMROOT"]
	if root == "" {
		root = `C:\Windows`
	}
	return root + `\System32\WindowsPowerShell\v1.0`
}

// assign sets a variable of this scope, or one of the environment. Setting $null has no effect.
func (f *frame) assign(to lang.Variable, v object.Value) error {
	if d := f.Drive(to.Scope); d != nil {
		return d.Set(to.Name, v)
	}
	if to.Scope != "" {
		return f.scope(to.Scope).assign(lang.Variable{Name: to.Name}, v)
	}
	if to.Env {
		f.in.SetEnvironment(to.Name, object.Text(v))
		return nil
	}
	if err := binding.Assignable(to.Name); err != nil {
		return err
	}
	if _, ok := binding.Preferences()[to.Name]; ok {
		if err := binding.CheckPreference(to.Name, v); err != nil {
			return object.Thrown("%v.", err)
		}
		if f == f.in.Top { // elsewhere it is a variable like others
			v, _ = object.PreferenceType().Parsed(object.Plain(v))
		}
	}
	if of := f.types[to.Name]; of != "" {
		var err error
		if v, err = f.in.types().Converted(of, v); err != nil {
			return err
		}
	}
	switch {
	case to.Name == "null":
	case to.Name == "lastexitcode" && f == f.in.Top: // the same variable as that of programs
		f.in.lastExit = v
	default:
		f.vars[to.Name] = v
	}
	return nil
}
