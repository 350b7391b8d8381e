package provider

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/windows"
)

// linksToFolder reports whether an item is a link to a folder.
func linksToFolder(info fs.FileInfo) bool {
	of, ok := info.Sys().(*syscall.Win32FileAttributeData)
	return ok && of.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0
}
