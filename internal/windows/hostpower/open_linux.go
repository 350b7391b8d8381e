package hostpower

import (
	"os"
	"syscall"
)

// open opens a file, without following a link and without waiting for the writer of a pipe.
func open(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
