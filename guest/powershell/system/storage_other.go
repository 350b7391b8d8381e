//go:build !windows

package system

import "errors"

// volumes works on Windows only; on other systems the package is only tested.
func volumes() ([]Volume, error) { return nil, errors.ErrUnsupported }

func mountVolume(string, string) error { return errors.ErrUnsupported }

func unmountVolume(string) error { return errors.ErrUnsupported }
