//go:build !windows

package system

import "errors"

// commandLine works as processes does.
func commandLine(int64) (string, error) { return "", errors.ErrUnsupported }

// processes works on Windows only; on other systems the package is only tested.
func processes() ([]Process, error) { return nil, errors.ErrUnsupported }
