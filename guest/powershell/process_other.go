//go:build !windows

package powershell

import "errors"

// commandLine works as processes does.
func commandLine(int64) (string, error) { return "", errors.ErrUnsupported }

// processes works on Windows only; on other systems the package is only tested.
func processes() ([]process, error) { return nil, errors.ErrUnsupported }
