package powershell

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// registryCalls are the calls of Windows' registry. A key is given by its whole name, HKEY_LOCAL_MACHINE\SOFTWARE.
// fs.ErrNotExist is the error for a key or value that is not there, fs.ErrPermission for one that may not be used.
type registryCalls interface {
	// read returns the names of a key's subkeys, and its values.
	read(key string) (subkeys []string, values []registryValue, err error)
	// create makes a key and the keys above it. A key that is there stays as it is.
	create(key string) error
	set(key string, v registryValue) error
	// removeKey removes a key without subkeys.
	removeKey(key string) error
	removeValue(key, name string) error
}

// onRegistry matches the beginning of a path of the registry: one of its drives, or the name of its provider.
var onRegistry = lazyregexp.New(`(?i)^(?:(hklm|hkcu):|(?:microsoft\.powershell\.core\\)?registry::)`)

// hives are the hives' names by their short names, in lower case.
func hives() map[string]string {
	return map[string]string{
		"hklm": "HKEY_LOCAL_MACHINE",
		"hkcu": "HKEY_CURRENT_USER",
		"hkcr": "HKEY_CLASSES_ROOT",
		"hkcc": "HKEY_CURRENT_CONFIG",
		"hku":  "HKEY_USERS",
	}
}

// registryKey is a key that a path names.
type registryKey struct {
	name  string // the whole name, which begins with the hive's
	drive string // HKLM or HKCU, "" for a path with the provider's name
}

// keyOf is the key that a path of the registry names. / and \ separate its parts.
func keyOf(path string) (registryKey, error) {
	begin := onRegistry.FindStringSubmatch(path)
	if begin == nil {
		return registryKey{}, errors.New("a path that is not of the registry is not part of Mullion's PowerShell here")
	}
	k := registryKey{drive: strings.ToUpper(begin[1])}
	parts := strings.FieldsFunc(path[len(begin[0]):], func(r rune) bool { return r == '/' || r == '\\' })
	if k.drive != "" {
		parts = append([]string{k.drive}, parts...)
	}
	if len(parts) == 0 {
		return k, errors.New("a path of the registry without a hive is not part of Mullion's PowerShell")
	}
	for short, long := range hives() {
		if strings.EqualFold(parts[0], short) || strings.EqualFold(parts[0], long) {
			k.name = long
		}
	}
	if k.name == "" {
		return k, fmt.Errorf("the hive %s of the registry is not part of Mullion's PowerShell", parts[0])
	}
	if slices.Contains(parts, ".") || slices.Contains(parts, "..") {
		return k, errors.New("a path of the registry with . or .. is not part of Mullion's PowerShell")
	}
	k.name = strings.Join(append([]string{k.name}, parts[1:]...), `\`)
	return k, nil
}

// parent is the key above, "" for a hive.
func (k registryKey) parent() string { return k.name[:max(strings.LastIndexByte(k.name, '\\'), 0)] }

// leaf is the last part of the key's name.
func (k registryKey) leaf() string { return k.name[strings.LastIndexByte(k.name, '\\')+1:] }

func (k registryKey) child(name string) registryKey { return registryKey{k.name + `\` + name, k.drive} }

// registryParameters are the cmdlets that know paths of the registry, each with the parameters that it carries out
// there.
func registryParameters() map[string][]string {
	return map[string][]string{
		"Get-ChildItem":         {"name", "recurse", "force"},
		"Get-Item":              {"force"},
		"Get-ItemProperty":      {"name"},
		"Get-ItemPropertyValue": {"name"},
		"New-Item":              {"name", "itemtype", "type", "value", "force"},
		"New-ItemProperty":      {"name", "value", "propertytype", "force"},
		"Remove-Item":           {"recurse", "force"},
		"Remove-ItemProperty":   {"name", "force"},
		"Set-ItemProperty":      {"name", "value", "type", "force"},
		"Test-Path":             {},
	}
}

// refusesPath is the error for a path that the cmdlet does not know: of a drive that it does not have, or of a file for
// those that set values. whole says that the whole path is known.
func (c cmdlet) refusesPath(path string, whole bool) error {
	_, knows := registryParameters()[c.name]
	switch {
	case !knows || !onRegistry.MatchString(path):
		if err := cmp.Or(badPath(path), c.environment(path)); err != nil {
			return err
		}
		if whole && slices.Contains([]string{"New-ItemProperty", "Remove-ItemProperty", "Set-ItemProperty"}, c.name) {
			return fmt.Errorf("%s, which is not of the registry, is not part of Mullion's PowerShell for %s", path,
				c.name)
		}
		return nil
	case !whole:
		return nil
	}
	_, err := keyOf(path)
	return err
}

// refusesKey is the error for a path of the registry with wild cards, or with parameters that the cmdlet does not carry
// out there. wild says that the path may have wild cards, given are the parameters.
func (c cmdlet) refusesKey(path string, wild bool, given []string) error {
	carriedOut, knows := registryParameters()[c.name]
	if !knows || !onRegistry.MatchString(path) {
		return nil
	}
	if wild && hasWildcard(path) {
		return errors.New("wild cards in a path of the registry are not part of Mullion's PowerShell")
	}
	known := slices.Concat([]string{pathName, literalName}, commonValues(), commonFlags(), carriedOut)
	for _, name := range given {
		if !slices.Contains(known, name) {
			return fmt.Errorf("-%s of %s for the registry is not part of Mullion's PowerShell", name, c.name)
		}
	}
	return nil
}

// verifyKeys is refusesKey for what is known before the script runs.
func (c cmdlet) verifyKeys(b bound) error {
	for _, name := range []string{pathName, literalName} {
		for _, x := range b[name] {
			paths := []expr{x}
			if l, ok := x.(*list); ok {
				paths = l.items
			}
			for _, p := range paths {
				s, _ := beginning(p)
				if err := c.refusesKey(s, name == pathName, slices.Sorted(maps.Keys(b))); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// knownKey is refusesKey for a path that the cmdlet has got.
func (c *call) knownKey(path string, wild bool) error {
	given := slices.Concat(slices.Collect(maps.Keys(c.values)), slices.Collect(maps.Keys(c.flags)))
	if err := c.refusesKey(path, wild, slices.Sorted(slices.Values(given))); err != nil {
		return thrown("%s : %v.", c.name, err)
	}
	return nil
}

// itemPath is what an object of the pipeline names: a key, or an object with a key's values, names that key.
func itemPath(v value) value {
	if o, ok := v.(*object); ok {
		if path := text(o.props["pspath"]); onRegistry.MatchString(path) {
			return path
		}
	}
	return v
}

// key is the key that a target names, and false for a target that is none.
func (t target) key() (registryKey, bool) {
	k, err := keyOf(t.name)
	return k, err == nil && !t.matched
}

func (c *call) registry() registryCalls { return c.f.in.session.system().registry }

// failKey reports an error of the registry. One about a missing key is left to forEach.
func (c *call) failKey(err error) error {
	var left *leaving
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.As(err, &left):
		return err
	case errors.Is(err, fs.ErrPermission):
		err = itsWords("Requested registry access is not allowed.")
	}
	return c.fail(err)
}

// testKey is Test-Path: a key that may not be read is there too.
func (c *call) testKey(k registryKey) error {
	_, _, err := c.registry().read(k.name)
	return c.show(err == nil || errors.Is(err, fs.ErrPermission))
}

// showKey outputs a key as an object.
func (c *call) showKey(k registryKey) error {
	subkeys, values, err := c.registry().read(k.name)
	if err != nil {
		return c.failKey(err)
	}
	return c.show(c.f.keyObject(k, subkeys, values))
}

// showSubkeys is Get-ChildItem: the keys below a key. above are the names of the keys between the two.
func (c *call) showSubkeys(k registryKey, above string) error {
	subkeys, _, err := c.registry().read(k.name)
	if err != nil {
		return c.failKey(err)
	}
	for _, name := range subkeys {
		if c.flags["name"] {
			err = c.show(above + name)
		} else if err = c.showKey(k.child(name)); errors.Is(err, fs.ErrNotExist) {
			continue // gone since
		}
		if err == nil && c.flags["recurse"] {
			if err = c.showSubkeys(k.child(name), above+name+`\`); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// newKey is New-Item: it makes a key. -Force makes the keys above too, and an existing key anew, without what was in
// it.
func (c *call) newKey(k registryKey, v value) error {
	typed := c.values["itemtype"] != nil || c.values["type"] != nil
	if typed && v != nil {
		return thrown("%s : -ItemType together with -Value for the registry is not part of Mullion's PowerShell.",
			c.name)
	}
	err := c.placeFor(k)
	if err == nil {
		err = c.registry().create(k.name)
	}
	if err == nil && v != nil {
		var made registryValue
		if made, err = c.newValue("", v, kindUnknown, kindUnknown); err == nil {
			err = c.registry().set(k.name, made)
		}
	}
	if err != nil {
		return c.failKey(err)
	}
	return c.showKey(k)
}

// placeFor checks that a key can be made: that it is not there, and the one above is. With -Force it removes the key,
// and the one above may be missing.
func (c *call) placeFor(k registryKey) error {
	_, _, err := c.registry().read(k.name)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case err == nil && c.flags["force"]:
		return c.removeTree(k.name)
	case err == nil:
		return itsWords("A key in this path already exists.")
	case missing && c.flags["force"]:
		return nil
	case missing:
		_, _, err = c.registry().read(k.parent())
		if errors.Is(err, fs.ErrNotExist) {
			return itsWords("The registry key at the specified path does not exist.")
		}
	}
	return err
}

// dropKey is Remove-Item. PowerShell asks before it removes a key with subkeys; here there is nobody to ask.
func (c *call) dropKey(k registryKey) error {
	subkeys, _, err := c.registry().read(k.name)
	if err != nil {
		return c.failKey(err)
	}
	if len(subkeys) > 0 && !c.flags["recurse"] {
		return c.fail(itsWords("The item at %s has children and the Recurse parameter was not specified.", k.name))
	}
	return c.failKey(c.removeTree(k.name))
}

// removeTree removes a key and what is below it.
func (c *call) removeTree(key string) error {
	if !strings.Contains(key, `\`) { // a hive
		return itsWords("The operation was not processed. " +
			"The location that was provided does not allow this operation.")
	}
	subkeys, _, err := c.registry().read(key)
	if err != nil {
		return err
	}
	for _, name := range subkeys {
		if err := c.removeTree(key + `\` + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return c.registry().removeKey(key)
}
