package system

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/windows/registry"
)

// theRegistry returns Windows' own registry.
func theRegistry() RegistryCalls { return windowsRegistry{} }

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

func (windowsRegistry) Read(key string) (subkeys []string, values []RegistryValue, err error) {
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
func readValue(k registry.Key, name string) (RegistryValue, error) {
	for buffer := make([]byte, 256); ; {
		n, kind, err := k.GetValue(name, buffer)
		if errors.Is(err, registry.ErrShortBuffer) {
			buffer = make([]byte, max(n, 2*len(buffer)))
			continue
		}
		if err != nil {
			return RegistryValue{}, err
		}
		return RegistryValue{name, kind, buffer[:n]}, nil
	}
}

func (windowsRegistry) Create(key string) error {
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

func (windowsRegistry) Set(key string, v RegistryValue) error {
	k, err := openKey(key, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer k.Close()

	switch v.Kind {
	case KindString:
		return k.SetStringValue(v.Name, v.Text())
	case KindExpand:
		return k.SetExpandStringValue(v.Name, v.Text())
	case KindMulti:
		return k.SetStringsValue(v.Name, v.Texts())
	case KindDWord:
		return k.SetDWordValue(v.Name, uint32(v.Number())) // it has 32 bits
	case KindQWord:
		return k.SetQWordValue(v.Name, v.Number())
	case KindBinary:
		return k.SetBinaryValue(v.Name, v.Data)
	}

	return fmt.Errorf("set the value %q of type %d: %w", v.Name, v.Kind, errors.ErrUnsupported)
}

func (windowsRegistry) RemoveKey(key string) error {
	h, rest, err := hive(key)
	if err != nil {
		return err
	}
	return registry.DeleteKey(h, rest)
}

func (windowsRegistry) RemoveValue(key, name string) error {
	k, err := openKey(key, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer k.Close()
	return k.DeleteValue(name)
}
