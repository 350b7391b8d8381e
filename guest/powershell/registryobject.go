package powershell

import (
	"fmt"
	"strconv"
	"strings"
)

// keyKind is the kind of the objects that are keys of the registry.
const keyKind = "registry key"

// shownValues is the hidden property of a key with the object of its values, for showing it.
const shownValues = "the values of a key"

// provider is the beginning of the paths of keys in objects.
const provider = `Microsoft.PowerShell.Core\Registry`

// addPath adds the properties that tell where an object of the registry comes from.
func (k registryKey) addPath(o *object) *object {
	o.put("PSPath", provider+"::"+k.name)
	o.put("PSParentPath", "")
	if k.parent() != "" {
		o.put("PSParentPath", provider+"::"+k.parent())
	}
	o.put("PSChildName", k.leaf())
	if k.drive != "" {
		o.put("PSDrive", newObject("drive").set("Name", k.drive))
	}
	from := newObject("provider").set("Name", "Registry")
	from.props["fullname"] = provider // how it is shown as text
	o.put("PSProvider", from)
	return o
}

// valueName is a value's name as PowerShell has it.
func valueName(name string) string {
	if name == "" {
		return "(default)"
	}
	return name
}

// keyObject is a key as Get-Item gives it.
func (f *frame) keyObject(k registryKey, subkeys []string, values []registryValue) *object {
	names, shown := []value{}, newObject(custom)
	for _, v := range values {
		is, err := v.value(f.in.env)
		if err != nil { // a number that is not implemented: it is only shown
			is = strconv.FormatUint(v.number(), 10)
		}
		names = append(names, valueName(v.name))
		shown.put(valueName(v.name), is)
	}
	o := k.addPath(newObject(keyKind).set("Property", names))
	o.set("PSIsContainer", true).set("SubKeyCount", int64(len(subkeys))).set("ValueCount", int64(len(values)))
	o.set("Name", k.name)
	o.props[shownValues] = shown
	return o
}

// keyRow is a row of the table of keys.
const keyRow = "%-30s %s"

// key shows a key: its name, and its values below each other.
func (f *formatter) key(o *object) error {
	var lines []string
	above := strings.TrimPrefix(text(o.props["psparentpath"]), provider+"::")
	if f.kind != keyKind || f.dir != above {
		f.end()
		f.kind, f.dir = keyKind, above
		lines = append(lines, "", "    Hive: "+above, "", fmt.Sprintf(keyRow, "Name", "Property"),
			fmt.Sprintf(keyRow, "----", "--------"))
	}
	values, _ := o.props[shownValues].(*object)
	width := 0
	for _, name := range values.names {
		width = max(width, len(name))
	}
	name := text(o.props["pschildname"])
	for _, v := range values.names {
		shown := fmt.Sprintf("%-*s : %s", width, v, listValue(values.props[lower(v)]))
		lines = append(lines, fmt.Sprintf(keyRow, name, shown))
		name = ""
	}
	if len(values.names) == 0 {
		lines = append(lines, name)
	}
	for _, l := range lines {
		if err := f.line(l); err != nil {
			return err
		}
	}
	return nil
}

// keyClass has the methods of keys (https://learn.microsoft.com/en-us/dotnet/api/microsoft.win32.registrykey).
func keyClass() *class {
	type reader func(c *dotCall, subkeys []string, values []registryValue) (value, error)
	of := func(do reader) func(*dotCall) (value, error) {
		return func(c *dotCall) (value, error) {
			o, ok := c.on.(*object)
			if !ok {
				return nil, nil
			}
			subkeys, values, err := c.f.in.session.system().registry.read(text(o.props["name"]))
			if err != nil {
				return nil, err
			}
			return do(c, subkeys, values)
		}
	}
	get := func(c *dotCall, _ []string, values []registryValue) (value, error) {
		if v, there := findValue(values, c.text(0)); there {
			return v.value(c.f.in.env)
		}
		return c.arg(1), nil
	}
	return &class{name: "Microsoft.Win32.RegistryKey", methods: []routine{
		{name: "GetValue", least: 1, most: 2, do: of(get)},
		{name: "GetValueNames", do: of(func(_ *dotCall, _ []string, values []registryValue) (value, error) {
			out := []value{}
			for _, v := range values {
				out = append(out, v.name)
			}
			return out, nil
		})},
		{name: "GetSubKeyNames", do: of(func(_ *dotCall, subkeys []string, _ []registryValue) (value, error) {
			out := []value{}
			for _, name := range subkeys {
				out = append(out, name)
			}
			return out, nil
		})},
	}}
}
