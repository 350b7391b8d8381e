package cmdlet

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/certificate"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
)

// RefusesPath returns the error for a path that the cmdlet does not know: of a drive that it does not have, or of a
// file for those that set values; nil for others. whole says that the whole path is known.
func (c Cmdlet) RefusesPath(path string, whole bool) error {
	if _, _, ok := provider.SessionItem(path); ok && c.Sessions {
		return nil
	}

	if certificate.OnDrive(path) && c.Certificates {
		return nil
	}

	switch {
	case c.Keys == nil || !provider.OnRegistry.MatchString(path):
		if err := cmp.Or(provider.BadPath(path), c.environment(path)); err != nil {
			return err
		}
		if whole && c.KeysOnly && strings.Contains(path, ":") { // others may be below the current location
			return fmt.Errorf("%s, which is not of the registry, is not part of Mullion's PowerShell for %s",
				path, c.Name)
		}
		return nil

	case !whole:
		return nil
	}

	_, err := provider.KeyOf(path)
	return err
}

// RefusesKey returns the error for a path of the registry with wild cards, or with parameters that the cmdlet does not
// carry out there, nil for others. wild says that the path may have wild cards, given are the parameters.
func (c Cmdlet) RefusesKey(path string, wild bool, given []string) error {
	if c.Keys == nil || !provider.OnRegistry.MatchString(path) {
		return nil
	}
	if wild && provider.HasWildcard(path) {
		return errors.New("wild cards in a path of the registry are not part of Mullion's PowerShell")
	}
	known := slices.Concat([]string{PathName, LiteralName}, CommonValues(), CommonFlags(), c.Keys)
	for _, name := range given {
		if !slices.Contains(known, name) {
			return fmt.Errorf("-%s of %s for the registry is not part of Mullion's PowerShell", name, c.Name)
		}
	}
	return nil
}

// knownKey does as RefusesKey for a path that the cmdlet has got.
func (c *Call) knownKey(path string, wild bool) error {
	given := slices.Concat(slices.Collect(maps.Keys(c.Values)), slices.Collect(maps.Keys(c.Flags)))
	if err := c.RefusesKey(path, wild, slices.Sorted(slices.Values(given))); err != nil {
		return object.Thrown("%s : %v.", c.Name, err)
	}
	return nil
}

// itemPath returns what an object of the pipeline names: a key, or an object with a key's values, names that key.
func itemPath(v object.Value) object.Value {
	if o, ok := v.(*object.Object); ok {
		if path := object.Text(o.Props["pspath"]); provider.OnRegistry.MatchString(path) || certificate.OnDrive(path) {
			return path
		}
	}
	return v
}

// placed returns the path that a value names, as the session has it: an object's path is whole already.
func (c *Call) placed(v object.Value) string {
	if _, whole := v.(*object.Object); whole {
		return object.Text(v)
	}
	return c.State.Placed(object.Text(v))
}

// Key returns the key that a target names, and false for a target that is none.
func (t Target) Key() (provider.Key, bool) {
	k, err := provider.KeyOf(t.Name)
	return k, err == nil && !t.Matched
}

// Target is an item that a cmdlet works on: its name as given or found, and its full path.
type Target struct {
	Name, Full string
	Matched    bool // found by wild cards
}

// Targets returns the items that a cmdlet works on, from its parameters or the pipeline. Wild cards in -Path are
// replaced by the items that match; missed are the patterns that match nothing.
func (c *Call) Targets() (found []Target, missed []string, err error) {
	for _, p := range []string{"path", "literalpath"} {
		v, given := c.Values[p]
		if !given {
			continue
		}
		items := slices.Collect(object.Each(v))
		if len(items) == 0 {
			return nil, nil, object.Thrown("%s : Cannot bind argument to parameter '%s' because it is null.", c.Name, p)
		}

		for _, item := range items {
			if err := c.add(item, p == "path", &found, &missed); err != nil {
				return nil, nil, err
			}
		}
	}

	for _, v := range c.Input {
		_, whole := v.(*object.Object) // an object is that file, even if its name looks like a pattern
		if err := c.add(itemPath(v), !whole, &found, &missed); err != nil {
			return nil, nil, err
		}
	}

	return found, missed, nil
}

func (c *Call) add(item object.Value, wild bool, found *[]Target, missed *[]string) error {
	path := c.placed(item)
	if path == "" {
		return object.Thrown("%s : Cannot bind argument to parameter 'Path' because it is an empty string.", c.Name)
	}
	if err := cmp.Or(c.KnownPath(path), c.knownKey(path, wild)); err != nil {
		return err
	}

	if wild && strings.Contains(path, "`") {
		return object.Thrown("%s : a ` in a path is not part of Mullion's PowerShell; -LiteralPath takes it as it is.", c.Name)
	}
	if _, environment := provider.EnvironmentItem(path); !wild || environment || !provider.HasWildcard(path) {
		*found = append(*found, Target{Name: path, Full: c.State.Path(path)})
		return nil
	}

	if !c.Wild {
		return object.Thrown("%s : wild cards in %s are not part of Mullion's PowerShell.", c.Name, path)
	}
	matched, err := provider.Expand(c.State.Path(path))
	if err != nil {
		return err
	}

	for _, full := range matched {
		*found = append(*found, Target{full, full, true})
	}

	if len(matched) == 0 {
		*missed = append(*missed, path)
	}
	return nil
}

// KnownPath refuses a path that is not a file's, and a path of the environment or the registry if the cmdlet does not
// know it. One of a drive that nobody has made has Windows' error.
func (c *Call) KnownPath(path string) error {
	path = c.State.OnDrive(path)
	if err := provider.NoDrive(path); err != nil {
		return err
	}
	if err := c.RefusesPath(path, true); err != nil {
		return object.Thrown("%s : %v.", c.Name, err)
	}
	return nil
}

// environment refuses a path on the drive env: if the cmdlet knows only files.
func (c Cmdlet) environment(path string) error {
	_, ok := provider.EnvironmentItem(path)
	if !ok || c.ManyVariables || (c.Variables && !provider.HasWildcard(path)) {
		return nil
	}
	return errors.New("the drive env: is not part of Mullion's PowerShell for " + c.Name)
}
