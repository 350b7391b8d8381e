package management

import (
	"errors"

	"golang.org/x/sys/windows"
)

// crossesVolumes reports whether a new name was refused because it is on another volume.
func crossesVolumes(err error) bool { return errors.Is(err, windows.ERROR_NOT_SAME_DEVICE) }
