//go:build !linux

package beneath

import (
	"context"
	"errors"
	"os"
)

// RemoveAll removes a file, or a folder with all that is in it. One that is gone is no error.
func RemoveAll(folder *os.Root, name string) error { return folder.RemoveAll(name) }

// Empty removes all that is in a folder; it is there on Linux only.
func Empty(context.Context, *os.Root, string) (int, error) { return 0, errors.ErrUnsupported }
