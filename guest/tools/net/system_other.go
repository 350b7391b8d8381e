//go:build !windows

package net

import "errors"

// Alone returns an error: net is a Windows program.
func (local) Alone(func() error) error { return errors.ErrUnsupported }
