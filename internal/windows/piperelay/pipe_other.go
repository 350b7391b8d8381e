//go:build !windows

package piperelay

import (
	"context"
	"errors"
	"net"
)

// Only Windows has named pipes.

func listenPipe(string, string) (net.Listener, error) { return nil, errors.ErrUnsupported }

func dialPipe(context.Context, string) (net.Conn, error) { return nil, errors.ErrUnsupported }
