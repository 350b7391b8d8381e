//go:build !windows

package powershell

import "errors"

// volumes works on Windows only; on other systems the package is only tested.
func volumes() ([]volume, error) { return nil, errors.ErrUnsupported }
