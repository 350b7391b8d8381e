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

// hiddenBits returns whether an item is hidden (2) and of the system (4).
func hiddenBits(info fs.FileInfo) int64 {
	of, ok := info.Sys().(*syscall.Win32FileAttributeData)
	if !ok {
		return 0
	}
	return int64(of.FileAttributes & (windows.FILE_ATTRIBUTE_HIDDEN | windows.FILE_ATTRIBUTE_SYSTEM))
}
