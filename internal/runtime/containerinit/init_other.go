//go:build !linux

package containerinit

import (
	"errors"
	"io"
)

// Run is for Linux only.
func Run(Config, io.Writer) (int, error) {
	return 0, errors.ErrUnsupported
}
