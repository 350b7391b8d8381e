package piperelay

import (
	"context"
	"net"

	"github.com/Microsoft/go-winio"
)

func listenPipe(name, security string) (net.Listener, error) {
	return winio.ListenPipe(name, &winio.PipeConfig{SecurityDescriptor: security})
}

func dialPipe(ctx context.Context, name string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, name)
}
