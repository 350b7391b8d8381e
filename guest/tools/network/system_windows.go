package network

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows/registry"
)

// urlKey is where Windows keeps the reservations.
const urlKey = `SYSTEM\CurrentControlSet\Services\HTTP\Parameters\UrlAclInfo`

// Reservations implements System.
func (local) Reservations() (map[string]string, error) {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, urlKey, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the reservations: %w", err)
	}
	defer key.Close()
	names, err := key.ReadValueNames(-1)
	if err != nil {
		return nil, fmt.Errorf("read the reservations: %w", err)
	}

	all := map[string]string{}
	for _, name := range names {
		if user, _, err := key.GetStringValue(name); err == nil {
			all[name] = user
		}
	}

	return all, nil
}

// Reserve implements System.
func (local) Reserve(url, user string) error {
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, urlKey, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer key.Close()
	if user == "" {
		return key.DeleteValue(url)
	}
	return key.SetStringValue(url, user)
}
