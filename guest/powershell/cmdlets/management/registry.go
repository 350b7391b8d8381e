package management

import (
	"errors"
	"io/fs"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/powershell/words"
)

func registry(c *cmdlet.Call) system.RegistryCalls { return c.State.System.Registry }

// failKey reports an error of the registry. One about a missing key is left to ForEach.
func failKey(c *cmdlet.Call, err error) error {
	var left *object.Leaving
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.As(err, &left):
		return err
	case errors.Is(err, fs.ErrPermission):
		err = words.Errorf("Requested registry access is not allowed.")
	}
	return c.Fail(err)
}

// testKey carries out Test-Path: a key that may not be read is there too.
func testKey(c *cmdlet.Call, k provider.Key) error {
	_, _, err := registry(c).Read(k.Name)
	return c.Output(err == nil || errors.Is(err, fs.ErrPermission))
}

// showKey outputs a key as an object.
func showKey(c *cmdlet.Call, k provider.Key) error {
	subkeys, values, err := registry(c).Read(k.Name)
	if err != nil {
		return failKey(c, err)
	}
	return c.Output(provider.KeyObject(c.State, k, subkeys, values))
}

// showSubkeys carries out Get-ChildItem: the keys below a key. above are the names of the keys between the two.
func showSubkeys(c *cmdlet.Call, k provider.Key, above string) error {
	subkeys, _, err := registry(c).Read(k.Name)
	if err != nil {
		return failKey(c, err)
	}

	for _, name := range subkeys {
		if c.Flags["name"] {
			err = c.Output(above + name)
		} else if err = showKey(c, k.Child(name)); errors.Is(err, fs.ErrNotExist) {
			continue // gone since
		}
		if err == nil && c.Flags["recurse"] {
			if err = showSubkeys(c, k.Child(name), above+name+`\`); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// newKey carries out New-Item: it makes a key. -Force makes the keys above too, and an existing key anew, without what
// was in it.
func newKey(c *cmdlet.Call, k provider.Key, v object.Value) error {
	typed := c.Values["itemtype"] != nil || c.Values["type"] != nil
	if typed && v != nil {
		return object.Thrown("%s : -ItemType together with -Value for the registry is not part of Mullion's PowerShell.",
			c.Name)
	}

	err := placeFor(c, k)
	if err == nil {
		err = registry(c).Create(k.Name)
	}
	if err == nil && v != nil {
		var made system.RegistryValue
		if made, err = newValue(c, "", v, kindUnknown, kindUnknown); err == nil {
			err = registry(c).Set(k.Name, made)
		}
	}
	if err != nil {
		return failKey(c, err)
	}

	return showKey(c, k)
}

// placeFor checks that a key can be made: that it is not there, and the one above is. With -Force it removes the key,
// and the one above may be missing.
func placeFor(c *cmdlet.Call, k provider.Key) error {
	_, _, err := registry(c).Read(k.Name)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case err == nil && c.Flags["force"]:
		return removeTree(c, k.Name)
	case err == nil:
		return words.Errorf("A key in this path already exists.")
	case missing && c.Flags["force"]:
		return nil
	case missing:
		_, _, err = registry(c).Read(k.Parent())
		if errors.Is(err, fs.ErrNotExist) {
			return words.Errorf("The registry key at the specified path does not exist.")
		}
	}

	return err
}

// dropKey carries out Remove-Item. PowerShell asks before it removes a key with subkeys; here there is nobody to ask.
func dropKey(c *cmdlet.Call, k provider.Key) error {
	subkeys, _, err := registry(c).Read(k.Name)
	if err != nil {
		return failKey(c, err)
	}
	if len(subkeys) > 0 && !c.Flags["recurse"] {
		return c.Fail(words.Errorf("The item at %s has children and the Recurse parameter was not specified.", k.Name))
	}
	return failKey(c, removeTree(c, k.Name))
}

// removeTree removes a key and what is below it.
func removeTree(c *cmdlet.Call, key string) error {
	if !strings.Contains(key, `\`) { // a hive
		return words.Errorf("The operation was not processed. " +
			"The location that was provided does not allow this operation.")
	}
	subkeys, _, err := registry(c).Read(key)
	if err != nil {
		return err
	}

	for _, name := range subkeys {
		if err := removeTree(c, key+`\`+name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}

	return registry(c).RemoveKey(key)
}
