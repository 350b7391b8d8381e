//go:build !windows

package system

import "errors"

// endWindows works on Windows only; on other systems the package is only tested.
func endWindows(bool) error { return errors.ErrUnsupported }
