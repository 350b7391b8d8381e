// Package piperelay owns the program that carries bytes between named pipes of Windows and Unix sockets. Linux programs
// cannot reach a pipe: it is an object of the Wine server of one prefix. So a program in that prefix listens on one end
// and connects to the other, once for each connection. It knows nothing of what is carried.
//
//	kubelet.exe, crictl.exe ─▶ \\.\pipe\containerd-containerd ─▶ mullion-pipe.exe ─▶ cri.sock ─▶ mullion-node
//
// Pipes are streams of bytes here, without messages. Who may open a pipe is for its security descriptor to say, who may
// open a socket for Linux' modes.
package piperelay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// pipePrefix is what the name of a pipe begins with (https://learn.microsoft.com/windows/win32/ipc/pipe-names).
const pipePrefix = `\\.\pipe\`

// dialTimeout bounds a connection to the other end.
const dialTimeout = 10 * time.Second

// Relay says where connections come in and where they lead to: to the name of a pipe, \\.\pipe\NAME, or to the path of a
// Unix socket.
type Relay struct{ Listen, Dial string }

// Parse reads the program's arguments: --security SDDL, the security descriptor of the pipes that it listens on, and
// then pairs of where to listen and where to connect to.
func Parse(args []string) (security string, relays []Relay, err error) {
	if len(args) >= 2 && args[0] == "--security" {
		security, args = args[1], args[2:]
	}
	if len(args) == 0 || len(args)%2 != 0 {
		return "", nil, errors.New("give pairs of a pipe or socket to listen on, and one to connect to")
	}
	for i := 0; i < len(args); i += 2 {
		relays = append(relays, Relay{Listen: args[i], Dial: args[i+1]})
	}
	return security, relays, nil
}

// Run carries connections until ctx ends, or one of the relays cannot listen any more. A connection whose other end is
// not there is closed.
func Run(ctx context.Context, security string, relays []Relay) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(relays))
	for _, r := range relays {
		l, err := listen(ctx, r.Listen, security)
		if err != nil {
			return fmt.Errorf("listen on %s: %w", r.Listen, err)
		}
		defer context.AfterFunc(ctx, func() { _ = l.Close() })() // that Accept ends is all that is asked of it
		defer l.Close()
		go func() { ended <- serve(ctx, l, r.Dial) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	return err
}

func isPipe(name string) bool {
	return len(name) >= len(pipePrefix) && strings.EqualFold(name[:len(pipePrefix)], pipePrefix)
}

func listen(ctx context.Context, name, security string) (net.Listener, error) {
	if isPipe(name) {
		return listenPipe(name, security)
	}
	return (&net.ListenConfig{}).Listen(ctx, "unix", name)
}

func dial(ctx context.Context, name string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if isPipe(name) {
		return dialPipe(ctx, name)
	}
	return (&net.Dialer{}).DialContext(ctx, "unix", name)
}

// serve accepts connections until l is closed.
func serve(ctx context.Context, l net.Listener, to string) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return fmt.Errorf("accept on %s: %w", l.Addr(), err)
		}
		go carry(ctx, conn, to)
	}
}

// carry joins a connection with a new one to the other end, and returns when one of them has ended.
func carry(ctx context.Context, conn net.Conn, to string) {
	defer conn.Close()
	other, err := dial(ctx, to)
	if err != nil {
		return
	}
	defer other.Close()
	defer context.AfterFunc(ctx, func() { _, _ = conn.Close(), other.Close() })() // so that both copies end
	// A pipe has no half that can be closed: what one end has sent is delivered, then both are closed.
	var copies sync.WaitGroup
	for _, c := range [][2]net.Conn{{other, conn}, {conn, other}} {
		copies.Go(func() {
			_, _ = io.Copy(c[0], c[1]) // an end that breaks off is an end
			_, _ = c[0].Close(), c[1].Close()
		})
	}
	copies.Wait()
}
