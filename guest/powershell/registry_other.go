//go:build !windows

package powershell

import "errors"

// theRegistry works on Windows only; on other systems the package is only tested.
func theRegistry() registryCalls { return noRegistry{} }

type noRegistry struct{}

func (noRegistry) read(string) ([]string, []registryValue, error) {
	return nil, nil, errors.ErrUnsupported
}
func (noRegistry) create(string) error              { return errors.ErrUnsupported }
func (noRegistry) set(string, registryValue) error  { return errors.ErrUnsupported }
func (noRegistry) removeKey(string) error           { return errors.ErrUnsupported }
func (noRegistry) removeValue(string, string) error { return errors.ErrUnsupported }
