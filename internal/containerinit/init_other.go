//go:build !linux

package containerinit

import "errors"

// Run is for Linux only.
func Run(Config) (int, error) {
	return 0, errors.ErrUnsupported
}
