//go:build !windows

package system

import "errors"

// adapters works on Windows only; on other systems the package is only tested.
func adapters() ([]Adapter, error) { return nil, errors.ErrUnsupported }
