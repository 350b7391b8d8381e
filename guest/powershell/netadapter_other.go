//go:build !windows

package powershell

import "errors"

// adapters works on Windows only; on other systems the package is only tested.
func adapters() ([]adapter, error) { return nil, errors.ErrUnsupported }
