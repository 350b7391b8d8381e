//go:build !windows

package powershell

import (
	"errors"
	"io/fs"
	"syscall"
)

// linksToFolder is for Windows, where a link itself says that it leads to a folder.
func linksToFolder(fs.FileInfo) bool { return false }

// crossesVolumes reports whether a new name was refused because it is on another volume.
func crossesVolumes(err error) bool { return errors.Is(err, syscall.EXDEV) }
