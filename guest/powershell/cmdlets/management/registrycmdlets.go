package management

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/powershell/words"
)

// properties returns the values of a key that -Name means, or all without it. Missing names are reported. Names have
// wild cards, but not with -LiteralPath. Remove-ItemProperty does not know a key's default value.
func properties(c *cmdlet.Call, k provider.Key, values []system.RegistryValue) ([]system.RegistryValue, error) {
	wanted, given := c.Values["name"]
	if !given {
		return values, nil
	}

	var found []system.RegistryValue
	for item := range object.Each(wanted) {
		name := object.Text(item)
		re, err := pattern.Wildcard(name)
		if c.Values[cmdlet.LiteralName] != nil {
			re, err = regexp.Compile("(?i)^" + regexp.QuoteMeta(name) + "$")
		}
		if err != nil {
			return nil, err
		}

		before := len(found)
		for _, v := range values {
			known := provider.ValueName(v.Name)
			if c.Name == "Remove-ItemProperty" {
				known = v.Name
			}
			if re.MatchString(known) {
				found = append(found, v)
			}
		}
		if len(found) == before && !provider.HasWildcard(name) {
			if err := c.Fail(noProperty(name, k)); err != nil {
				return nil, err
			}
		}
	}

	return found, nil
}

func noProperty(name string, k provider.Key) error {
	return words.Errorf("Property %s does not exist at path %s.", name, k.Name)
}

// readValues returns the values of a target's key that -Name means.
func readValues(c *cmdlet.Call, k provider.Key) ([]system.RegistryValue, error) {
	_, values, err := registry(c).Read(k.Name)
	if err != nil {
		return nil, failKey(c, err)
	}
	return properties(c, k, values)
}

// valuesObject returns an object with values of a key, and where they are from.
func valuesObject(c *cmdlet.Call, k provider.Key, values []system.RegistryValue) (*object.Object, error) {
	o := object.New(object.Custom)
	for _, v := range values {
		is, err := provider.Value(v, c.State.Env)
		if err != nil {
			return nil, err
		}
		o.Put(provider.ValueName(v.Name), is)
	}
	return k.AddPath(o), nil
}

// getItemProperty outputs the values of keys as one object each, and files as Get-Item does. A key without values gives
// nothing, as in PowerShell.
func getItemProperty(c *cmdlet.Call) error {
	return c.ForEach(func(t cmdlet.Target) error {
		k, ok := t.Key()
		if !ok {
			info, err := os.Lstat(t.Full)
			if err != nil {
				return err
			}
			if c.Values["name"] != nil {
				return object.Thrown("%s : -Name for a file is not part of Mullion's PowerShell.", c.Name)
			}
			return c.Output(provider.Item(t.Full, info))
		}

		values, err := readValues(c, k)
		if err != nil || len(values) == 0 {
			return err
		}
		o, err := valuesObject(c, k, values)
		if err != nil {
			return err
		}

		return c.Output(o)
	})
}

// getItemPropertyValue outputs values of keys, and properties of files.
func getItemPropertyValue(c *cmdlet.Call) error {
	return c.ForEach(func(t cmdlet.Target) error {
		k, ok := t.Key()
		if !ok {
			return fileProperty(c, t)
		}
		values, err := readValues(c, k)
		if err != nil {
			return err
		}

		for _, v := range values {
			is, err := provider.Value(v, c.State.Env)
			if err == nil {
				err = c.Output(is)
			}
			if err != nil {
				return err
			}
		}

		return nil
	})
}

// fileProperty outputs properties of a file.
func fileProperty(c *cmdlet.Call, t cmdlet.Target) error {
	info, err := os.Lstat(t.Full)
	if err != nil {
		return err
	}

	for name := range object.Each(c.Values["name"]) {
		v, err := object.Property(provider.Item(t.Full, info), strings.ToLower(object.Text(name)))
		if err == nil {
			err = c.Output(v)
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// noKey returns the error of a target that is no key, for the cmdlets that change keys alone.
func noKey(c *cmdlet.Call, t cmdlet.Target) error {
	if _, err := os.Lstat(t.Full); err != nil {
		return err
	}
	return object.Thrown("%s : %s, which is not of the registry, is not part of Mullion's PowerShell.", c.Name, t.Name)
}

// setItemProperty sets a value of keys. One that is there keeps its type, unless -Type gives another.
func setItemProperty(c *cmdlet.Call) error { return setValue(c, "type", true) }

// newItemProperty makes a value of keys, and outputs it. Only with -Force it may be there already.
func newItemProperty(c *cmdlet.Call) error { return setValue(c, "propertytype", c.Flags["force"]) }

// setValue sets a value of keys, of the type that a parameter names. over says that the value may be there already.
func setValue(c *cmdlet.Call, parameter string, over bool) error {
	kind := uint32(kindUnknown)
	if given, known := valueKinds()[strings.ToLower(c.Text(parameter))]; known {
		kind = given
	}
	return c.ForEach(func(t cmdlet.Target) error {
		k, ok := t.Key()
		if !ok {
			return noKey(c, t)
		}
		_, values, err := registry(c).Read(k.Name)
		if err != nil {
			return failKey(c, err)
		}

		before := uint32(kindUnknown)
		name := storedName(c.Text("name"))
		if is, there := provider.FindValue(values, name); there {
			if !over {
				return c.Fail(words.Errorf("The property already exists."))
			}
			before = is.Kind
		}

		v, err := newValue(c, name, c.Values["value"], kind, before)
		if err == nil {
			err = registry(c).Set(k.Name, v)
		}
		if err != nil || c.Name == "Set-ItemProperty" {
			return failKey(c, err)
		}

		o, err := valuesObject(c, k, []system.RegistryValue{v})
		if err != nil {
			return err
		}
		return c.Output(o)
	})
}

// removeItemProperty removes values of keys.
func removeItemProperty(c *cmdlet.Call) error {
	return c.ForEach(func(t cmdlet.Target) error {
		k, ok := t.Key()
		if !ok {
			return noKey(c, t)
		}
		values, err := readValues(c, k)
		if err != nil {
			return err
		}

		for _, v := range values {
			if err := failKey(c, registry(c).RemoveValue(k.Name, v.Name)); err != nil {
				return err
			}
		}

		return nil
	})
}

func registryCmdlets() []cmdlet.Cmdlet {
	name := []string{"name"}
	kinds := []string{}
	for kind := range valueKinds() {
		kinds = append(kinds, kind)
	}

	slices.Sort(kinds)
	return []cmdlet.Cmdlet{
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "Get-ItemProperty",
			Keys:      []string{"name"},
			Aliases:   []string{"gp"},
			About:     "the values of a key of the registry; of a file what Get-Item gives",
			Run:       getItemProperty,
			Values:    name,
			Positions: name,
			Needs:     []string{cmdlet.PathName},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "Get-ItemPropertyValue",
			Keys:      []string{"name"},
			Aliases:   []string{"gpv"},
			About:     "values of a key of the registry, or properties of a file",
			Run:       getItemPropertyValue,
			Values:    name,
			Positions: name,
			Needs:     []string{cmdlet.PathName, "name"},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "Set-ItemProperty",
			Keys:      []string{"name", "value", "type", "force"},
			KeysOnly:  true,
			Aliases:   []string{"sp"},
			About:     "sets a value of a key of the registry",
			Run:       setItemProperty,
			Values:    []string{"name", "value", "type"},
			Flags:     []string{"force"},
			Positions: []string{"name", "value"},
			Needs:     []string{cmdlet.PathName, "name", "value"},
			Allowed:   map[string][]string{"type": kinds},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "New-ItemProperty",
			Keys:      []string{"name", "value", "propertytype", "force"},
			KeysOnly:  true,
			About:     "a new value of a key of the registry",
			Run:       newItemProperty,
			Values:    []string{"name", "value", "propertytype"},
			Also:      map[string]string{"type": "propertytype"},
			Flags:     []string{"force"},
			Positions: name,
			Needs:     []string{cmdlet.PathName, "name"},
			Allowed:   map[string][]string{"propertytype": kinds},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "Remove-ItemProperty",
			Keys:      []string{"name", "force"},
			KeysOnly:  true,
			Aliases:   []string{"rp"},
			About:     "removes values of a key of the registry",
			Run:       removeItemProperty,
			Values:    name,
			Flags:     []string{"force"},
			Positions: name,
			Needs:     []string{cmdlet.PathName, "name"},
		}),
	}
}
