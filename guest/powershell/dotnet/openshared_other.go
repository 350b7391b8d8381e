//go:build !windows

package dotnet

import "os"

// openShared opens a file for a FileMode and a FileAccess. Linux has nothing like FileShare.
func openShared(path string, mode, access, _ int64) (*os.File, error) {
	return os.OpenFile(path, howOpened(mode, access), 0o644)
}

// howOpened returns how a file is opened for a FileMode and a FileAccess.
func howOpened(mode, access int64) int {
	how := os.O_RDWR
	switch access {
	case 1:
		how = os.O_RDONLY
	case 2:
		how = os.O_WRONLY
	}

	switch mode {
	case 1:
		how |= os.O_CREATE | os.O_EXCL
	case 2:
		how |= os.O_CREATE | os.O_TRUNC
	case 4:
		how |= os.O_CREATE
	case 5:
		how |= os.O_TRUNC
	case 6:
		how = how&^os.O_RDWR | os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}

	return how
}
