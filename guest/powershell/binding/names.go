package binding

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// Preferences returns the variables that decide what is done with messages, with their initial values.
func Preferences() map[string]string {
	return map[string]string{
		"debugpreference":       "SilentlyContinue",
		"erroractionpreference": "Continue",
		"progresspreference":    "Continue", // nothing here shows progress
		"verbosepreference":     "SilentlyContinue",
		"warningpreference":     "Continue",
	}
}

// CheckPreference refuses values of a preference that are not implemented (those that ask the user) or unknown to
// PowerShell.
func CheckPreference(name string, v object.Value) error {
	known := []string{"continue", "silentlycontinue", "stop"}
	switch name {
	case cmdlet.ErrorAction:
		name, known = "-ErrorAction", append(known, "ignore")
	case cmdlet.WarningAction:
		name, known = "-WarningAction", append(known, "ignore")
	default:
		name = "$" + name
	}
	if !slices.Contains(known, ActionOf(v)) {
		return fmt.Errorf("%s %s is not part of Mullion's PowerShell", name, object.Text(v))
	}
	return nil
}

// ActionOf returns what a value of a preference asks for, in lower case; "" if it is none.
func ActionOf(v object.Value) string {
	if e, ok := object.PreferenceType().Parsed(object.Plain(v)); ok {
		return strings.ToLower(e.Text())
	}
	return ""
}

// fixed returns the variables that a script cannot set
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_automatic_variables).
func fixed() []string {
	return []string{
		"?", "error", "executioncontext", "false", "home", "host", "pid", "psculture", "psedition", "pshome",
		"psuiculture", "psversiontable", "shellid", "true",
	}
}

// Assignable returns an error for a variable that a script cannot set.
func Assignable(name string) error {
	if slices.Contains(fixed(), name) {
		return object.ReadOnly(name)
	}
	return nil
}

// BadVariable refuses the name of a variable that a call cannot set.
func BadVariable(name string) error {
	name = strings.TrimPrefix(strings.ToLower(name), "+")
	if scope, rest, scoped := strings.Cut(name, ":"); scoped && slices.Contains(lang.Scopes(), scope) {
		name = rest
	}
	if name == "" || strings.Contains(name, ":") {
		return fmt.Errorf("a result in the variable %q is %s", name, words.NotHere)
	}
	if _, is := Preferences()[name]; is {
		return fmt.Errorf("a result in $%s is %s", name, words.NotHere)
	}
	return Assignable(name)
}

// TypeKnown reports whether the type of a test is known here.
func TypeKnown(x *lang.TypeTest) bool {
	_, known := dotnet.TypeTests()[x.Of]
	return known || object.ExceptionName(x.Of) != "" || dotnet.ClassNamed(x.Of) != nil || object.EnumOf(x.Of) != nil
}

// StaticKnown reports whether the class has the member.
func StaticKnown(x *lang.Static, c *object.Class) bool {
	if x.Call && x.Name == "new" && object.ExceptionName(x.Of) != "" {
		return len(x.Args) <= 2
	}
	if x.Call && x.Name == "new" && strings.HasSuffix(x.Of, "[]") {
		return len(x.Args) == 1
	}

	switch {
	case c == nil:
		return false
	case !x.Call:
		return object.FindField(c.Fields, x.Name) != nil
	case x.Name == "new":
		return c.Make.Takes(len(x.Args))
	}

	return object.Find(c.Calls, x.Name).Takes(len(x.Args))
}
