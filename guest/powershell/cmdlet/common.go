package cmdlet

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
)

// The parameters that every cmdlet has, and every function with [CmdletBinding()] or [Parameter()]
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_commonparameters).
const (
	ErrorAction   = "erroraction" // what is done on errors
	ErrorVariable = "errorvariable"
	OutVariable   = "outvariable"
	VerboseName   = "verbose"
	WarningAction = "warningaction"
	// Those of functions with SupportsShouldProcess.
	WhatIfName  = "whatif"
	ConfirmName = "confirm"
)

// commonNames returns the names of common parameters, each with its alias.
func commonNames() map[string]string {
	return map[string]string{
		ErrorAction: "ea", ErrorVariable: "ev", OutVariable: "ov", VerboseName: "vb", "debug": "db",
		WarningAction:       "wa",
		"informationaction": "infa", "warningvariable": "wv", "informationvariable": "iv", "outbuffer": "ob",
		"pipelinevariable": "pv",
	}
}

// CommonValues returns the common parameters with a value that are implemented.
func CommonValues() []string { return []string{ErrorAction, ErrorVariable, OutVariable, WarningAction} }

// CommonFlags returns the flags that every cmdlet has. The cmdlets here have nothing more to say with -Verbose and
// -Debug, and ask nobody, so of -Confirm only -Confirm:$false is accepted.
func CommonFlags() []string { return []string{VerboseName, "debug", ConfirmName} }

// CommonNamed returns the common parameter that a name, an alias or the beginning of one name only means, "" if none.
func CommonNamed(name string) string { return namedOf(commonNames(), name) }

// AskingNamed returns the parameter of functions that ask before they change something which a name means, "" if none.
func AskingNamed(name string) string {
	return namedOf(map[string]string{WhatIfName: "wi", ConfirmName: "cf"}, name)
}

func namedOf(names map[string]string, name string) string {
	var found []string
	for full, alias := range names {
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

// Kept is what -ErrorVariable and -OutVariable of a call keep.
type Kept struct{ Errors, Output *object.ArrayList }
