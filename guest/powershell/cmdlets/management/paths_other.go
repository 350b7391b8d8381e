//go:build !windows

package management

import (
	"errors"
	"syscall"
)

// crossesVolumes reports whether a new name was refused because it is on another volume.
func crossesVolumes(err error) bool { return errors.Is(err, syscall.EXDEV) }
