package engine

import (
	"os"
	"strings"

	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/stream"
)

// Preference returns what a preference asks for in this scope, in lower case.
func (f *frame) Preference(name string) string { return binding.ActionOf(f.Get(name)) }

// names is what the scopes ask of the interpreter.
type names struct{ *Interpreter }

func (in names) Converted(to string, v object.Value) (object.Value, error) {
	return in.types().Converted(to, v)
}

func (in names) Read(text string) (*object.ScriptBlock, error) {
	v, err := in.State.Read(text)
	if err != nil {
		return nil, err
	}
	return v.(*object.ScriptBlock), nil
}

// SetOwn sets $LASTEXITCODE, which is the same variable as that of programs.
func (in names) SetOwn(name string, v object.Value) bool {
	if name != "lastexitcode" {
		return false
	}
	in.lastExit = v
	return true
}

func (in names) SetEnvironment(name, v string) { in.State.SetEnvironment(name, v) }

// Own returns a variable of PowerShell's own.
//
//nolint:gocyclo,funlen // a row for each variable
func (in names) Own(name string) (v object.Value, there bool) {
	switch name {
	case "?":
		return in.OK, true
	case "lastexitcode":
		return in.lastExit, true
	case "true":
		return true, true
	case "false":
		return false, true
	case "pwd":
		return provider.Location(in.Location()), true
	case "pid":
		return int64(os.Getpid()), true
	case "home":
		return in.home(), true
	case "pscommandpath", "psscriptroot": // outside of a file
		return "", true
	case "error":
		return in.failures, true
	case "myinvocation": // outside of a file
		return in.whole().Value(), true
	case "psedition":
		return "Desktop", true
	case "psculture", "psuiculture":
		return "en-US", true
	case "shellid":
		return "Microsoft.PowerShell", true
	case "pshome":
		return in.folder(), true
	case "profile":
		return object.Text(in.home()) + in.profileFolder() + profileName, true // its properties: profileNamed
	case "psboundparameters":
		return object.NewTable(false), true
	case "psversiontable":
		return in.versions(), true
	case "matches":
		return in.matched()
	case whatIf:
		return false, true
	case confirms:
		return "High", true
	case "host":
		return in.theHost(), true
	case "executioncontext":
		return in.executionContext(), true
	case "outputencoding":
		return &object.Instance{Of: stream.EncodingClass(), V: stream.EncodingNamed("ascii")}, true
	case "psdefaultparametervalues":
		return in.defaults, true
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

// matched returns $Matches, which is not there before the first -match that fits.
func (in *Interpreter) matched() (v object.Value, there bool) {
	if in.matches == nil {
		return nil, false
	}
	return in.matches, true
}

// versions returns $PSVersionTable: those of Windows PowerShell on this Windows, without those of parts that are not
// here, and with whose PowerShell it is.
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
