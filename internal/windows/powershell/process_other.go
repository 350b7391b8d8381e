//go:build !windows

package powershell

import "errors"

// processes are Windows' business; elsewhere the package is only tested.
func processes() ([]process, error) { return nil, errors.ErrUnsupported }
