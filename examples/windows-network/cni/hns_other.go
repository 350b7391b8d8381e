//go:build !windows

package main

import "errors"

// apply is for Windows; elsewhere the program is only tested.
func (p plan) apply() error { return errors.ErrUnsupported }
