//go:build !windows

package system

import "errors"

// callHNS works on Windows only; on other systems the package is only tested.
func callHNS(_, _, _ string) (string, error) { return "", errors.ErrUnsupported }

// enumerateCompute works on Windows only, too.
func enumerateCompute(string) (string, error) { return "", errors.ErrUnsupported }
