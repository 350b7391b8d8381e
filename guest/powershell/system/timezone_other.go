//go:build !windows

package system

import "errors"

// On other systems the package is only tested.
func currentZone() (string, error) { return "", errors.ErrUnsupported }

func setZone(string) error { return errors.ErrUnsupported }
