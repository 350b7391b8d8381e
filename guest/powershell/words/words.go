package words

import (
	"fmt"
	"strings"
)

// TypeName returns a type's name as classes have it: in lower case, with System.
func TypeName(name string) string {
	name = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "system.")
	if name == "management.automation.switchparameter" {
		return "switch" // its accelerator, which the language knows
	}
	return name
}

// NotHere are in each message about what is not implemented.
const NotHere = "not part of Mullion's PowerShell"

// Errorf returns an error in PowerShell's own words, which are a sentence with a capital letter and a full stop.
func Errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }
