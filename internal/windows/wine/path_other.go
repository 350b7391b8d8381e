//go:build !linux

package wine

import (
	"errors"
	"os"
)

// UnixPath works on Linux only.
func UnixPath(string, string) (string, error) { return "", errors.ErrUnsupported }

// OpenSource works on Linux only.
func OpenSource(string, string, []string, Mounted) (*os.File, error) {
	return nil, errors.ErrUnsupported
}

// OpenExisting works on Linux only.
func OpenExisting(string, string, Mounted) (*os.File, error) { return nil, errors.ErrUnsupported }

// OpenDevices works on Linux only.
func OpenDevices(string) (*os.Root, error) { return nil, errors.ErrUnsupported }
