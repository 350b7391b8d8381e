package wmic

import (
	"os"

	"golang.org/x/sys/windows"
)

// Piped implements System.
func (local) Piped() bool {
	kind, err := windows.GetFileType(windows.Handle(os.Stdout.Fd()))
	return err == nil && kind == windows.FILE_TYPE_PIPE
}
