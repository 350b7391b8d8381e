//go:build !windows

package system

import (
	"errors"

	"mullion.dev/mullion/guest/winproc"
)

// counted works as processes does.
func counted(int64) (winproc.Detail, error) { return winproc.Detail{}, errors.ErrUnsupported }

// commandLine works as processes does.
func commandLine(int64) (string, error) { return "", errors.ErrUnsupported }

// processes works on Windows only; on other systems the package is only tested.
func processes() ([]Process, error) { return nil, errors.ErrUnsupported }
