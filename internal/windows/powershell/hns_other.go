//go:build !windows

package powershell

import "errors"

// callHNS asks Windows; elsewhere the package is only tested.
func callHNS(_, _, _ string) (string, error) { return "", errors.ErrUnsupported }
