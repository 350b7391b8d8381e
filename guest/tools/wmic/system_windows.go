package wmic

import (
	"os"

	"golang.org/x/sys/windows"
)

// Output implements System.
func (local) Output() Output {
	switch kind, _ := windows.GetFileType(windows.Handle(os.Stdout.Fd())); kind {
	case windows.FILE_TYPE_PIPE:
		return Pipe
	case windows.FILE_TYPE_DISK:
		return File
	}
	return Console
}
