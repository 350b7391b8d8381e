//go:build !windows

package certstore

import "errors"

// List fails: only Windows has stores of Windows.
func (System) List(bool, string) ([][]byte, error) { return nil, errors.ErrUnsupported }

// Add fails, as List.
func (System) Add(bool, string, []byte) (bool, error) { return false, errors.ErrUnsupported }

// Remove fails, as List.
func (System) Remove(bool, string, []byte) error { return errors.ErrUnsupported }
