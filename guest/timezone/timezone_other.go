//go:build !windows

package timezone

import "errors"

// IsSet is false: there is no registry.
func IsSet() bool { return false }

// Set is for Windows only.
func Set(string, bool) error { return errors.ErrUnsupported }
