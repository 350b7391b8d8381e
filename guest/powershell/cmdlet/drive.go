package cmdlet

import (
	"cmp"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/words"
)

// Drive is a drive of what the session has: aliases, functions or variables.
type Drive interface {
	// Names are the names of all its items.
	Names() []string
	// Item is an item as Get-Item gives it, Content what Get-Content does.
	Item(name string) (v object.Value, there bool)
	Content(name string) (v object.Value, there bool)
	Set(name string, v object.Value) error
	Remove(name string) error
}

// SessionItems returns the items of a drive of the session that a path means, by their names. ok says that it is a path
// of such a drive; a name with wild cards, or none, may mean several.
func (c *Call) SessionItems(path string) (d Drive, names []string, ok bool, err error) {
	drive, name, ok := provider.SessionItem(path)
	if !ok {
		return nil, nil, false, nil
	}
	d = c.Scope.Drive(drive)
	if name != "" && !provider.HasWildcard(name) {
		return d, []string{name}, true, nil
	}

	re, err := pattern.Wildcard(cmp.Or(name, "*"))
	if err != nil {
		return nil, nil, true, err
	}
	for _, n := range d.Names() {
		if re.MatchString(n) {
			names = append(names, n)
		}
	}

	return d, names, true, nil
}

// ForSession calls do for each item of a drive of the session that -Path or -LiteralPath names, if all paths are such
// ones; done reports that.
func (c *Call) ForSession(do func(d Drive, name string, there bool) error) (done bool, err error) {
	paths := c.paths()
	if len(paths) == 0 {
		return false, nil
	}

	for _, path := range paths {
		d, names, ok, err := c.SessionItems(path)
		if err != nil || !ok {
			return false, err
		}

		for _, name := range names {
			_, there := d.Content(name)
			if err := do(d, name, there); err != nil {
				return true, err
			}
		}
	}

	return true, nil
}

// NoSessionItem returns the error of an item that a drive of the session does not have.
func NoSessionItem(name string) error {
	return words.Errorf("Cannot find path '%s' because it does not exist.", strings.ToLower(name))
}
