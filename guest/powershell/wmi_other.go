//go:build !windows

package powershell

import (
	"context"
	"errors"
)

// queryWMI works on Windows only; on other systems the package is only tested.
func queryWMI(context.Context, string, string) ([]wmiObject, error) {
	return nil, errors.ErrUnsupported
}
