package xcopy

import (
	"io/fs"
	"syscall"
)

// hidden reports whether a file is hidden or one of the system's.
func hidden(info fs.FileInfo) bool {
	of, ok := info.Sys().(*syscall.Win32FileAttributeData)
	return ok && of.FileAttributes&(syscall.FILE_ATTRIBUTE_HIDDEN|syscall.FILE_ATTRIBUTE_SYSTEM) != 0
}
