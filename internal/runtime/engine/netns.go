package engine

import (
	"context"
	"fmt"
	"net"

	"mullion.dev/mullion/internal/base/netns"
)

// DialIn connects over TCP to address as seen from inside the network namespace at path. "localhost" is tried as
// 127.0.0.1 and then as ::1, without asking any resolver.
func DialIn(ctx context.Context, path, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("connect to %q: %w", address, err)
	}
	hosts := []string{host}
	if host == "localhost" {
		hosts = []string{"127.0.0.1", "::1"}
	}

	var first error
	for _, h := range hosts {
		conn, err := dialIn(ctx, path, net.JoinHostPort(h, port))
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}

	return nil, first
}

// dialIn makes the connection on a thread that is in the namespace; the socket stays there.
func dialIn(ctx context.Context, path, address string) (net.Conn, error) {
	var conn net.Conn
	err := netns.Do(path, func() error {
		// An address of digits is dialled on this thread: neither a resolver nor a second attempt runs beside it.
		var err error
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
		return err
	})
	return conn, err
}
