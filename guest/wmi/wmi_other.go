//go:build !windows

package wmi

import (
	"context"
	"errors"
)

// Query works on Windows only; on other systems the package is only tested.
func Query(context.Context, string, string) ([]Object, error) {
	return nil, errors.ErrUnsupported
}

// Ask works on Windows only.
func Ask(string, string) ([]Object, error) { return nil, errors.ErrUnsupported }
