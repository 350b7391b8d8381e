//go:build !windows

package localgroup

import "errors"

// Alone returns an error: only programs of Windows change the groups.
func Alone(func() error) error { return errors.ErrUnsupported }
