//go:build !windows

package piperelay

import (
	"context"
	"errors"
	"net"
)

// Only Windows has named pipes and events.

func listenPipe(string, string) (net.Listener, error) { return nil, errors.ErrUnsupported }

func dialPipe(context.Context, string) (net.Conn, error) { return nil, errors.ErrUnsupported }

func dialPipeFor(context.Context, User, string) (net.Conn, error) { return nil, errors.ErrUnsupported }

func setEvent(string) error { return errors.ErrUnsupported }
