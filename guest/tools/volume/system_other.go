//go:build !windows

package volume

import "errors"

// ThisSystem is the system of this process.
func ThisSystem() System { return local{} }

type local struct{}

func (local) Volume(string) (Volume, error) { return Volume{}, errors.ErrUnsupported }

func (local) SetLabel(string, string) error { return errors.ErrUnsupported }
