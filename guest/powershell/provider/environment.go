package provider

import (
	"regexp"
	"strings"
)

// ExpandPercent replaces %NAME% by the variable's value; names without a variable stay.
func ExpandPercent(s string, env map[string]string) string {
	return regexp.MustCompile(`%[^%]+%`).ReplaceAllStringFunc(s, func(name string) string {
		if v, there := env[strings.ToUpper(strings.Trim(name, "%"))]; there {
			return v
		}
		return name
	})
}

// EnvironmentItem returns the variable that a path of the drive env: names.
func EnvironmentItem(path string) (string, bool) {
	drive, name, ok := strings.Cut(path, ":")
	return strings.ToUpper(strings.TrimLeft(name, `\/`)), ok && strings.ToLower(drive) == "env"
}

// SessionItem returns what a path of alias:, function: or variable: names: the drive in lower case, and the item.
func SessionItem(path string) (drive, name string, ok bool) {
	drive, name, ok = strings.Cut(path, ":")
	drive = strings.ToLower(drive)
	return drive, strings.TrimLeft(name, `\/`), ok && (drive == "alias" || drive == "function" || drive == "variable")
}
