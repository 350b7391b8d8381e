//go:build !windows

package logmonitor

import (
	"os"
	"syscall"
)

// fileID tells files apart, whatever their names.
type fileID struct{ volume, index uint64 }

// open opens a file to read it, such that others may still rename or remove it.
func open(path string) (*os.File, error) { return os.Open(path) }

// identify returns the identity of an open file.
func identify(file *os.File) (fileID, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &st); err != nil { // a descriptor is small
		return fileID{}, err
	}
	return fileID{uint64(st.Dev), st.Ino}, nil //nolint:unconvert // its type differs between systems
}
