//go:build !windows

package system

import (
	"context"
	"errors"
)

// queryWMI works on Windows only; on other systems the package is only tested.
func queryWMI(context.Context, string, string) ([]WMIObject, error) {
	return nil, errors.ErrUnsupported
}
