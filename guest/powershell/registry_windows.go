package powershell

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/windows/registry"
)

// theRegistry is Windows' own.
func theRegistry() registryCalls { return windowsRegistry{} }

type windowsRegistry struct{}

// hive returns the hive of a key, and the rest of its name.
func hive(key string) (registry.Key, string, error) {
	name, rest, _ := strings.Cut(key, `\`)
	h, known := map[string]registry.Key{
		"HKEY_LOCAL_MACHINE":  registry.LOCAL_MACHINE,
		"HKEY_CURRENT_USER":   registry.CURRENT_USER,
		"HKEY_CLASSES_ROOT":   registry.CLASSES_ROOT,
		"HKEY_CURRENT_CONFIG": registry.CURRENT_CONFIG,
		"HKEY_USERS":          registry.USERS,
	}[name]
	if !known {
		return 0, "", fmt.Errorf("open the hive %q: %w", name, fs.ErrNotExist)
	}
	return h, rest, nil
}

func openKey(key string, access uint32) (registry.Key, error) {
	h, rest, err := hive(key)
	if err != nil {
		return 0, err
	}
	return registry.OpenKey(h, rest, access)
}

func (windowsRegistry) read(key string) (subkeys []string, values []registryValue, err error) {
	k, err := openKey(key, registry.QUERY_VALUE|registry.ENUMERATE_SUB_KEYS)
	if err != nil {
		return nil, nil, err
	}
	defer k.Close()
	if subkeys, err = k.ReadSubKeyNames(-1); err != nil {
		return nil, nil, err
	}
	names, err := k.ReadValueNames(-1)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		v, err := readValue(k, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone since
		}
		if err != nil {
			return nil, nil, err
		}
		values = append(values, v)
	}
	return subkeys, values, nil
}

// readValue reads a value, which may grow meanwhile.
func readValue(k registry.Key, name string) (registryValue, error) {
	for buffer := make([]byte, 256); ; {
		n, kind, err := k.GetValue(name, buffer)
		if errors.Is(err, registry.ErrShortBuffer) {
			buffer = make([]byte, max(n, 2*len(buffer)))
			continue
		}
		if err != nil {
			return registryValue{}, err
		}
		return registryValue{name, kind, buffer[:n]}, nil
	}
}

func (windowsRegistry) create(key string) error {
	h, rest, err := hive(key)
	if err != nil {
		return err
	}
	k, _, err := registry.CreateKey(h, rest, registry.QUERY_VALUE)
	if err != nil {
		return err
	}
	return k.Close()
}

func (windowsRegistry) set(key string, v registryValue) error {
	k, err := openKey(key, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer k.Close()
	switch v.kind {
	case kindString:
		return k.SetStringValue(v.name, v.text())
	case kindExpand:
		return k.SetExpandStringValue(v.name, v.text())
	case kindMulti:
		return k.SetStringsValue(v.name, v.texts())
	case kindDWord:
		return k.SetDWordValue(v.name, uint32(v.number())) // it has 32 bits
	case kindQWord:
		return k.SetQWordValue(v.name, v.number())
	case kindBinary:
		return k.SetBinaryValue(v.name, v.data)
	}
	return fmt.Errorf("set the value %q of type %d: %w", v.name, v.kind, errors.ErrUnsupported)
}

func (windowsRegistry) removeKey(key string) error {
	h, rest, err := hive(key)
	if err != nil {
		return err
	}
	return registry.DeleteKey(h, rest)
}

func (windowsRegistry) removeValue(key, name string) error {
	k, err := openKey(key, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer k.Close()
	return k.DeleteValue(name)
}
