//go:build !windows

package system

import (
	"errors"
	"io"
)

// clearScreen works on Windows only; on other systems the package is only tested.
func clearScreen(io.Writer) error { return errors.ErrUnsupported }
