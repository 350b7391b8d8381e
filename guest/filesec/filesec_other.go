//go:build !windows

package filesec

import "errors"

// Of fails: only Windows has lists of access.
func Of(string) (List, error) { return List{}, errors.ErrUnsupported }

// Set fails, as Of.
func Set(string, List) error { return errors.ErrUnsupported }

// SetOwner fails, as Of.
func SetOwner(string, string) error { return errors.ErrUnsupported }

// Account returns the SID itself.
func Account(sid string) string { return sid }

// Lookup fails, as Of.
func Lookup(string) (string, error) { return "", errors.ErrUnsupported }
