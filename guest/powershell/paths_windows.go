package powershell

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/windows"
)

// linksToFolder reports whether an item is a link to a folder.
func linksToFolder(info fs.FileInfo) bool {
	of, ok := info.Sys().(*syscall.Win32FileAttributeData)
	return ok && of.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0
}

// crossesVolumes reports whether a new name was refused because it is on another volume.
func crossesVolumes(err error) bool { return errors.Is(err, windows.ERROR_NOT_SAME_DEVICE) }
