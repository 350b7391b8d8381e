//go:build !windows

package powershell

import "errors"

// processes works on Windows only; on other systems the package is only tested.
func processes() ([]process, error) { return nil, errors.ErrUnsupported }
