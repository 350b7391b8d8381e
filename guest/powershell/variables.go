package powershell

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// missing are the variables of PowerShell's own that are not implemented: they must not be taken for empty variables of
// the script.
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_automatic_variables,
// https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_preference_variables)
func missing() []string {
	return []string{
		"$", "^", "consolefilename", "enabledexperimentalfeatures", "event", "eventargs", "eventsubscriber",
		"executioncontext", "foreach", "host",
		"nestedpromptlevel", "pscmdlet", "psdebugcontext",
		"pssenderinfo", "sender",
		"sourceargs", "sourceeventargs", "stacktrace", "switch", "this",
		"confirmpreference", "errorview", "formatenumerationlimit", "informationpreference", "logcommandhealthevent",
		"logcommandlifecycleevent", "logenginehealthevent", "logenginelifecycleevent", "logproviderhealthevent",
		"logproviderlifecycleevent", "maximumaliascount", "maximumdrivecount", "maximumerrorcount",
		"maximumfunctioncount", "maximumhistorycount", "maximumvariablecount", "outputencoding",
		"psdefaultparametervalues", "psemailserver", "psmoduleautoloadingpreference",
		"psnativecommandargumentpassing", "psnativecommanduseerroractionpreference", "pssessionapplicationname",
		"pssessionconfigurationname", "pssessionoption", "psstyle", "transcript", "verbosehelperrors",
		"whatifpreference",
	}
}

// preferences are the variables that decide what is done with messages, with their initial values.
func preferences() map[string]string {
	return map[string]string{
		"debugpreference":       "SilentlyContinue",
		"erroractionpreference": "Continue",
		"progresspreference":    "Continue", // nothing here shows progress
		"verbosepreference":     "SilentlyContinue",
		"warningpreference":     "Continue",
	}
}

// checkPreference refuses values of a preference that are not implemented (those that ask the user) or unknown to
// PowerShell.
func checkPreference(name string, v value) error {
	known := []string{"continue", "silentlycontinue", "stop"}
	if name == common {
		name, known = "-ErrorAction", append(known, "ignore")
	} else {
		name = "$" + name
	}
	if !slices.Contains(known, actionOf(v)) {
		return fmt.Errorf("%s %s is not part of Mullion's PowerShell", name, text(v))
	}
	return nil
}

// preferenceType are the values of preferences
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.actionpreference), as 5.1 has them.
func preferenceType() *enumType {
	return &enumType{name: "Management.Automation.ActionPreference", values: []enumName{
		{"SilentlyContinue", 0}, {"Stop", 1}, {"Continue", 2}, {"Inquire", 3}, {"Ignore", 4}, {"Suspend", 5},
	}}
}

// actionOf is what a value of a preference asks for, in lower case; "" if it is none.
func actionOf(v value) string {
	if e, ok := preferenceType().parsed(plain(v)); ok {
		return lower(e.text())
	}
	return ""
}

// preference is what a preference asks for in this scope, in lower case.
func (f *frame) preference(name string) string { return actionOf(f.get(name)) }

// get is the value of a variable of this scope or one around it, $null if it is not there.
func (f *frame) get(name string) value {
	v, _ := f.find(name)
	return v
}

// find finds a variable of this scope or one around it, or one of PowerShell's own.
func (f *frame) find(name string) (v value, there bool) {
	for s := f; s != nil; s = s.parent {
		if v, ok := s.vars[name]; ok {
			return v, true
		}
	}
	return f.own(name)
}

// own is a variable of PowerShell's own.
func (f *frame) own(name string) (v value, there bool) {
	switch name {
	case "?":
		return f.in.ok, true
	case "lastexitcode":
		return f.in.lastExit, true
	case "true":
		return true, true
	case "false":
		return false, true
	case "pwd":
		return location(f.in.dir), true
	case "pid":
		return int64(os.Getpid()), true
	case "home":
		return f.in.home(), true
	case "pscommandpath", "psscriptroot": // outside of a file
		return "", true
	case "error":
		return f.in.failures, true
	case "myinvocation": // outside of a file
		return invocation(&Script{}), true
	case "psedition":
		return "Desktop", true
	case "psculture", "psuiculture":
		return "en-US", true
	case "shellid":
		return "Microsoft.PowerShell", true
	case "pshome":
		return f.in.folder(), true
	case "profile":
		return text(f.in.home()) + `\Documents\WindowsPowerShell\Microsoft.PowerShell_profile.ps1`, true
	case "psboundparameters":
		return newTable(false), true
	case "psversiontable":
		return f.in.versions(), true
	case "matches":
		return f.in.matched()
	case "null", "args", "_", "input":
		return nil, true
	}
	if v, ok := preferences()[name]; ok {
		is, _ := preferenceType().named(v)
		return is, true
	}
	return nil, false
}

// matched is $Matches, which is not there before the first -match that fits.
func (in *interpreter) matched() (v value, there bool) {
	if in.matches == nil {
		return nil, false
	}
	return in.matches, true
}

// versions is $PSVersionTable: those of Windows PowerShell on this Windows, without those of parts that are not here,
// and with whose PowerShell it is.
func (in *interpreter) versions() value {
	build := "0"
	if version, err := in.session.system().version(); err == nil {
		build = version[strings.LastIndex(version, ".")+1:]
	}
	t := newTable(false)
	t.set("PSVersion", versionValue("5.1."+build))
	t.set("PSEdition", "Desktop")
	t.set("BuildVersion", versionValue("10.0."+build))
	t.set("Implementation", "Mullion")
	return t
}

// home is the user's folder.
func (in *interpreter) home() value {
	names := []string{"HOME"}
	if in.windows() {
		names = []string{"USERPROFILE"}
	}
	for _, name := range names {
		if v, ok := in.env[name]; ok {
			return v
		}
	}
	return nil
}

// folder is where PowerShell is.
func (in *interpreter) folder() string {
	root := in.env["SYSTEMROOT"]
	if root == "" {
		root = `C:\Windows`
	}
	return root + `\System32\WindowsPowerShell\v1.0`
}

func (in *interpreter) windows() bool { return in.session.Newline == "\r\n" }

// assign sets a variable of this scope, or one of the environment. Setting $null has no effect.
func (f *frame) assign(to variable, v value) error {
	if to.scope != "" {
		return f.scope(to.scope).assign(variable{name: to.name}, v)
	}
	if to.env {
		name := strings.ToUpper(to.name)
		f.in.env[name] = text(v)
		if text(v) == "" {
			delete(f.in.env, name)
		}
		return nil
	}
	if err := assignable(to.name); err != nil {
		return err
	}
	if _, ok := preferences()[to.name]; ok {
		if err := checkPreference(to.name, v); err != nil {
			return thrown("%v.", err)
		}
		if f == f.in.top { // elsewhere it is a variable like others
			v, _ = preferenceType().parsed(plain(v))
		}
	}
	if of := f.types[to.name]; of != "" {
		var err error
		if v, err = converted(of, v); err != nil {
			return err
		}
	}
	switch {
	case to.name == "null":
	case to.name == "lastexitcode" && f == f.in.top: // the same variable as that of programs
		f.in.lastExit = v
	default:
		f.vars[to.name] = v
	}
	return nil
}

// reads lists a variable that is read and not there.
func (c *checker) reads(name string) {
	if slices.Contains(missing(), name) {
		c.lack("the automatic variable $%s is %s", name, notHereWords)
	}
}

// fixed are the variables that a script cannot set
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_automatic_variables).
func fixed() []string {
	return []string{
		"?", "error", "executioncontext", "false", "home", "host", "pid", "psculture", "psedition", "pshome", "psuiculture",
		"psversiontable", "shellid", "true",
	}
}

// assignable returns an error for a variable that a script cannot set.
func assignable(name string) error {
	if slices.Contains(fixed(), name) {
		return readOnly(name)
	}
	return nil
}
