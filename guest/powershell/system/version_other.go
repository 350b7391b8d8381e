//go:build !windows

package system

import "errors"

// windowsVersion works on Windows only; on other systems the package is only tested.
func windowsVersion() (string, error) { return "", errors.ErrUnsupported }
