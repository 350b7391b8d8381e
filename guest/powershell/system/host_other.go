//go:build !windows

package system

import (
	"context"
	"errors"
	"net"
)

// dialPipe works on Windows only; on other systems the package is only tested.
func dialPipe(context.Context, string) (net.Conn, error) { return nil, errors.ErrUnsupported }
