//go:build !windows

package network

import "errors"

// Reservations returns an error: only Windows is asked.
func (local) Reservations() (map[string]string, error) { return nil, errors.ErrUnsupported }

// Reserve returns an error: only Windows is asked.
func (local) Reserve(string, string) error { return errors.ErrUnsupported }
