package scope

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
)

// setStrictMode makes reading a variable or property that is not there an error, in this scope and those below.
func setStrictMode(c *cmdlet.Call) error {
	level := 0
	if v, ok := c.Values["version"]; ok {
		level = map[string]int{"1": 1, "1.0": 1, "2": 2, "2.0": 2}[strings.ToLower(object.Text(v))]
		if level == 0 {
			level = 3
		}
	}

	if c.Flags["off"] == (level > 0) {
		return object.Thrown("%s : either -Version or -Off is needed.", c.Name)
	}

	of(c).strict = &level
	return nil
}

// Strictness returns the level of Set-StrictMode, 0 without.
func (s *Scope) Strictness() int {
	for ; s != nil; s = s.Parent {
		if s.strict != nil {
			return *s.strict
		}
	}

	return 0
}

func strictCmdlet() cmdlet.Cmdlet {
	return cmdlet.Cmdlet{
		Name:    "Set-StrictMode",
		About:   "makes reading variables, properties and items that are not there an error",
		Run:     setStrictMode,
		Values:  []string{"version"},
		Flags:   []string{"off"},
		Allowed: map[string][]string{"version": {"1", "1.0", "2", "2.0", "3", "3.0", "latest"}},
		Needs:   []string{"version|off"},
	}
}
