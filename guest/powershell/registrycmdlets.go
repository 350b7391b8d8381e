package powershell

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
)

// properties are the values of a key that -Name means, or all without it. Missing names are reported. Names have wild
// cards, but not with -LiteralPath. Remove-ItemProperty does not know a key's default value.
func (c *call) properties(k registryKey, values []registryValue) ([]registryValue, error) {
	wanted, given := c.values["name"]
	if !given {
		return values, nil
	}
	var found []registryValue
	for item := range each(wanted) {
		name := text(item)
		re, err := wildcard(name)
		if c.values[literalName] != nil {
			re, err = regexp.Compile("(?i)^" + regexp.QuoteMeta(name) + "$")
		}
		if err != nil {
			return nil, err
		}
		before := len(found)
		for _, v := range values {
			known := valueName(v.name)
			if c.name == "Remove-ItemProperty" {
				known = v.name
			}
			if re.MatchString(known) {
				found = append(found, v)
			}
		}
		if len(found) == before && !hasWildcard(name) {
			if err := c.fail(noProperty(name, k)); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func noProperty(name string, k registryKey) error {
	return itsWords("Property %s does not exist at path %s.", name, k.name)
}

// read returns the values of a target's key that -Name means.
func (c *call) read(k registryKey) ([]registryValue, error) {
	_, values, err := c.registry().read(k.name)
	if err != nil {
		return nil, c.failKey(err)
	}
	return c.properties(k, values)
}

// valuesObject is an object with values of a key, and where they are from.
func (c *call) valuesObject(k registryKey, values []registryValue) (*object, error) {
	o := newObject(custom)
	for _, v := range values {
		is, err := v.value(c.f.in.env)
		if err != nil {
			return nil, err
		}
		o.put(valueName(v.name), is)
	}
	return k.addPath(o), nil
}

// getItemProperty outputs the values of keys as one object each, and files as Get-Item does. A key without values gives
// nothing, as in PowerShell.
func getItemProperty(c *call) error {
	return c.forEach(func(t target) error {
		k, ok := t.key()
		if !ok {
			info, err := os.Lstat(t.full)
			if err != nil {
				return err
			}
			if c.values["name"] != nil {
				return thrown("%s : -Name for a file is not part of Mullion's PowerShell.", c.name)
			}
			return c.show(item(t.full, info))
		}
		values, err := c.read(k)
		if err != nil || len(values) == 0 {
			return err
		}
		o, err := c.valuesObject(k, values)
		if err != nil {
			return err
		}
		return c.show(o)
	})
}

// getItemPropertyValue outputs values of keys, and properties of files.
func getItemPropertyValue(c *call) error {
	return c.forEach(func(t target) error {
		k, ok := t.key()
		if !ok {
			return c.fileProperty(t)
		}
		values, err := c.read(k)
		if err != nil {
			return err
		}
		for _, v := range values {
			is, err := v.value(c.f.in.env)
			if err == nil {
				err = c.show(is)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// fileProperty outputs properties of a file.
func (c *call) fileProperty(t target) error {
	info, err := os.Lstat(t.full)
	if err != nil {
		return err
	}
	for name := range each(c.values["name"]) {
		v, err := property(item(t.full, info), lower(text(name)))
		if err == nil {
			err = c.show(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setItemProperty sets a value of keys. One that is there keeps its type, unless -Type gives another.
func setItemProperty(c *call) error { return c.setValue("type", true) }

// newItemProperty makes a value of keys, and outputs it. Only with -Force it may be there already.
func newItemProperty(c *call) error { return c.setValue("propertytype", c.flags["force"]) }

// setValue sets a value of keys, of the type that a parameter names. over says that the value may be there already.
func (c *call) setValue(parameter string, over bool) error {
	kind := uint32(kindUnknown)
	if given, known := valueKinds()[lower(c.text(parameter))]; known {
		kind = given
	}
	return c.forEach(func(t target) error {
		k, ok := t.key()
		if !ok {
			return fs.ErrNotExist
		}
		_, values, err := c.registry().read(k.name)
		if err != nil {
			return c.failKey(err)
		}
		before := uint32(kindUnknown)
		name := storedName(c.text("name"))
		if is, there := findValue(values, name); there {
			if !over {
				return c.fail(itsWords("The property already exists."))
			}
			before = is.kind
		}
		v, err := c.newValue(name, c.values["value"], kind, before)
		if err == nil {
			err = c.registry().set(k.name, v)
		}
		if err != nil || c.name == "Set-ItemProperty" {
			return c.failKey(err)
		}
		o, err := c.valuesObject(k, []registryValue{v})
		if err != nil {
			return err
		}
		return c.show(o)
	})
}

// removeItemProperty removes values of keys.
func removeItemProperty(c *call) error {
	return c.forEach(func(t target) error {
		k, ok := t.key()
		if !ok {
			return fs.ErrNotExist
		}
		values, err := c.read(k)
		if err != nil {
			return err
		}
		for _, v := range values {
			if err := c.failKey(c.registry().removeValue(k.name, v.name)); err != nil {
				return err
			}
		}
		return nil
	})
}

func registryCmdlets() []cmdlet {
	name := []string{"name"}
	kinds := []string{}
	for kind := range valueKinds() {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return []cmdlet{
		ofPath(cmdlet{
			name:      "Get-ItemProperty",
			aliases:   []string{"gp"},
			about:     "the values of a key of the registry; of a file what Get-Item gives",
			run:       getItemProperty,
			values:    name,
			positions: name,
			needs:     []string{pathName},
		}),
		ofPath(cmdlet{
			name:      "Get-ItemPropertyValue",
			aliases:   []string{"gpv"},
			about:     "values of a key of the registry, or properties of a file",
			run:       getItemPropertyValue,
			values:    name,
			positions: name,
			needs:     []string{pathName, "name"},
		}),
		ofPath(cmdlet{
			name:      "Set-ItemProperty",
			aliases:   []string{"sp"},
			about:     "sets a value of a key of the registry",
			run:       setItemProperty,
			values:    []string{"name", "value", "type"},
			flags:     []string{"force"},
			positions: []string{"name", "value"},
			needs:     []string{pathName, "name", "value"},
			allowed:   map[string][]string{"type": kinds},
		}),
		ofPath(cmdlet{
			name:      "New-ItemProperty",
			about:     "a new value of a key of the registry",
			run:       newItemProperty,
			values:    []string{"name", "value", "propertytype"},
			also:      map[string]string{"type": "propertytype"},
			flags:     []string{"force"},
			positions: name,
			needs:     []string{pathName, "name"},
			allowed:   map[string][]string{"propertytype": kinds},
		}),
		ofPath(cmdlet{
			name:      "Remove-ItemProperty",
			aliases:   []string{"rp"},
			about:     "removes values of a key of the registry",
			run:       removeItemProperty,
			values:    name,
			flags:     []string{"force"},
			positions: name,
			needs:     []string{pathName, "name"},
		}),
	}
}
