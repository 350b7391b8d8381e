//go:build !windows

package system

import "errors"

// theRegistry works on Windows only; on other systems the package is only tested.
func theRegistry() RegistryCalls { return noRegistry{} }

type noRegistry struct{}

func (noRegistry) Read(string) ([]string, []RegistryValue, error) {
	return nil, nil, errors.ErrUnsupported
}

func (noRegistry) Create(string) error { return errors.ErrUnsupported }

func (noRegistry) Set(string, RegistryValue) error { return errors.ErrUnsupported }

func (noRegistry) RemoveKey(string) error { return errors.ErrUnsupported }

func (noRegistry) RemoveValue(string, string) error { return errors.ErrUnsupported }
