package provider

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// OnRegistry matches the beginning of a path of the registry: one of its drives, or the name of its provider.
var OnRegistry = lazyregexp.New(`(?i)^(?:(hklm|hkcu):|(?:microsoft\.powershell\.core\\)?registry::)`)

// hives returns the hives' names by their short names, in lower case.
func hives() map[string]string {
	return map[string]string{
		"hklm": "HKEY_LOCAL_MACHINE",
		"hkcu": "HKEY_CURRENT_USER",
		"hkcr": "HKEY_CLASSES_ROOT",
		"hkcc": "HKEY_CURRENT_CONFIG",
		"hku":  "HKEY_USERS",
	}
}

// Key is a key that a path names.
type Key struct {
	Name  string // the whole name, which begins with the hive's
	drive string // HKLM or HKCU, "" for a path with the provider's name
}

// KeyOf returns the key that a path of the registry names. / and \ separate its parts.
func KeyOf(path string) (Key, error) {
	begin := OnRegistry.FindStringSubmatch(path)
	if begin == nil {
		return Key{}, errors.New("a path that is not of the registry is not part of Mullion's PowerShell here")
	}

	k := Key{drive: strings.ToUpper(begin[1])}
	parts := strings.FieldsFunc(path[len(begin[0]):], func(r rune) bool { return r == '/' || r == '\\' })
	if k.drive != "" {
		parts = append([]string{k.drive}, parts...)
	}
	if len(parts) == 0 {
		return k, errors.New("a path of the registry without a hive is not part of Mullion's PowerShell")
	}

	for short, long := range hives() {
		if strings.EqualFold(parts[0], short) || strings.EqualFold(parts[0], long) {
			k.Name = long
		}
	}

	if k.Name == "" {
		return k, fmt.Errorf("the hive %s of the registry is not part of Mullion's PowerShell", parts[0])
	}
	if slices.Contains(parts, ".") || slices.Contains(parts, "..") {
		return k, errors.New("a path of the registry with . or .. is not part of Mullion's PowerShell")
	}
	k.Name = strings.Join(append([]string{k.Name}, parts[1:]...), `\`)
	return k, nil
}

// Parent returns the key above, "" for a hive.
func (k Key) Parent() string { return k.Name[:max(strings.LastIndexByte(k.Name, '\\'), 0)] }

// leaf returns the last part of the key's name.
func (k Key) leaf() string { return k.Name[strings.LastIndexByte(k.Name, '\\')+1:] }

// Child returns a key below this one.
func (k Key) Child(name string) Key { return Key{k.Name + `\` + name, k.drive} }

// AddPath adds the properties that tell where an object of the registry comes from.
func (k Key) AddPath(o *object.Object) *object.Object {
	o.Put("PSPath", format.Provider+"::"+k.Name)
	o.Put("PSParentPath", "")
	if k.Parent() != "" {
		o.Put("PSParentPath", format.Provider+"::"+k.Parent())
	}
	o.Put("PSChildName", k.leaf())
	if k.drive != "" {
		o.Put("PSDrive", object.New("drive").Set("Name", k.drive))
	}
	from := object.New("provider").Set("Name", "Registry")
	from.Props["fullname"] = format.Provider // how it is shown as text
	o.Put("PSProvider", from)
	return o
}

// ValueName returns a value's name as PowerShell has it.
func ValueName(name string) string {
	if name == "" {
		return "(default)"
	}
	return name
}

// KeyObject returns a key as Get-Item gives it.
func KeyObject(s *session.State, k Key, subkeys []string, values []system.RegistryValue) *object.Object {
	names, shown := []object.Value{}, object.New(object.Custom)
	for _, v := range values {
		is, err := Value(v, s.Env)
		if err != nil { // a number that is not implemented: it is only shown
			is = strconv.FormatUint(v.Number(), 10)
		}
		names = append(names, ValueName(v.Name))
		shown.Put(ValueName(v.Name), is)
	}

	o := k.AddPath(object.New(format.KeyKind).Set("Property", names))
	o.Class = KeyClass
	o.Set("PSIsContainer", true).Set("SubKeyCount", int64(len(subkeys))).Set("ValueCount", int64(len(values)))
	o.Set("Name", k.Name)
	o.Props[format.ShownValues] = shown

	return o
}

// KeyClass has the methods of keys (https://learn.microsoft.com/en-us/dotnet/api/microsoft.win32.registrykey).
func KeyClass() *object.Class {
	type reader func(c *object.Call, subkeys []string, values []system.RegistryValue) (object.Value, error)
	of := func(do reader) func(*object.Call) (object.Value, error) {
		return func(c *object.Call) (object.Value, error) {
			o, ok := c.On.(*object.Object)
			if !ok {
				return nil, nil
			}
			subkeys, values, err := c.State.System.Registry.Read(object.Text(o.Props["name"]))
			if err != nil {
				return nil, err
			}

			return do(c, subkeys, values)
		}
	}

	get := func(c *object.Call, _ []string, values []system.RegistryValue) (object.Value, error) {
		if v, there := FindValue(values, c.Text(0)); there {
			return Value(v, c.State.Env)
		}
		return c.Arg(1), nil
	}

	return &object.Class{
		Name: "Microsoft.Win32.RegistryKey",
		Methods: []object.Method{
			{Name: "GetValue", Least: 1, Most: 2, Do: of(get)},
			{
				Name: "GetValueNames",
				Do: of(func(_ *object.Call, _ []string, values []system.RegistryValue) (object.Value, error) {
					out := []object.Value{}
					for _, v := range values {
						out = append(out, v.Name)
					}
					return out, nil
				}),
			},
			{
				Name: "GetSubKeyNames",
				Do: of(func(_ *object.Call, subkeys []string,
					_ []system.RegistryValue,
				) (object.Value, error) {
					out := []object.Value{}
					for _, name := range subkeys {
						out = append(out, name)
					}
					return out, nil
				}),
			},
		},
	}
}

// FindValue finds a value by its name.
func FindValue(values []system.RegistryValue, name string) (system.RegistryValue, bool) {
	i := slices.IndexFunc(values, func(v system.RegistryValue) bool { return strings.EqualFold(v.Name, name) })
	if i < 0 {
		return system.RegistryValue{}, false
	}
	return values[i], true
}

// Value returns the value as PowerShell has it. What is there may have any length, whatever its type is.
func Value(v system.RegistryValue, env map[string]string) (object.Value, error) {
	switch v.Kind {
	case system.KindString:
		return v.Text(), nil
	case system.KindExpand:
		return ExpandPercent(v.Text(), env), nil
	case system.KindMulti:
		out := []object.Value{}
		for _, s := range v.Texts() {
			out = append(out, s)
		}
		return out, nil

	case system.KindDWord, system.KindQWord:
		if len(v.Data) > 8 {
			return object.ByteList(v.Data), nil
		}
		n := v.Number()
		if n > math.MaxInt64 {
			return nil, object.Thrown("The number %d of the registry, with 64 bits, is not part of Mullion's PowerShell.", n)
		}
		return int64(n), nil

	case system.KindNone, system.KindBinary, system.KindBig:
		return object.ByteList(v.Data), nil
	}

	return nil, nil
}
