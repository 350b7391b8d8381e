// Package piperelay owns the program that carries bytes between named pipes of Windows and Unix sockets. Linux programs
// cannot reach a pipe: it is an object of the Wine server of one prefix. So a program in that prefix listens on one end
// and connects to the other, once for each connection. It knows nothing of what is carried.
//
//	crictl.exe ─▶ \\.\pipe\containerd-containerd ─▶ mullion-pipe.exe ─▶ cri.sock ─▶ mullion-node
//
// A pipe that is mounted into a container is in two prefixes, so it takes two programs:
//
//	a pod's program ─▶ \\.\pipe\x of the container ─▶ mullion-pipe.exe of the container ─▶ socket ─▶ mullion-node,
//	which says who asks and for what (Ask) ─▶ named.sock ─▶ mullion-pipe.exe of the host ─▶ \\.\pipe\x of the host
//
// Pipes are streams of bytes here, without messages. Linux' modes say who may connect to a socket. Wine does not
// compare a pipe's security descriptor with who opens it; for pods that is done here.
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

// Prefix is what the name of a pipe begins with (https://learn.microsoft.com/windows/win32/ipc/pipe-names).
const Prefix = `\\.\pipe\`

// dialTimeout bounds a connection to the other end.
const dialTimeout = 10 * time.Second

// Relay says where connections come in and where they lead to: to the name of a pipe, \\.\pipe\NAME, to the path of a
// Unix socket, or Named.
type Relay struct{ Listen, Dial string }

// Named is where connections lead to that say themselves which pipe they are for; see Ask.
const Named = "named"

// Options are what the program is told.
type Options struct {
	// Security is the security descriptor of the pipes that it listens on, in SDDL; "" is Windows' own.
	Security string
	// Event is the name of an event of Windows that is set when the program listens on all; "" sets none.
	Event  string
	Relays []Relay
}

// Args returns the program's arguments, for Parse.
func (o Options) Args() []string {
	var args []string
	for _, flag := range [][2]string{{securityFlag, o.Security}, {eventFlag, o.Event}} {
		if flag[1] != "" {
			args = append(args, flag[0], flag[1])
		}
	}
	for _, r := range o.Relays {
		args = append(args, r.Listen, r.Dial)
	}
	return args
}

const (
	securityFlag = "--security"
	eventFlag    = "--event"
)

// Parse reads the program's arguments.
func Parse(args []string) (Options, error) {
	var o Options
	for len(args) >= 2 && strings.HasPrefix(args[0], "--") {
		switch args[0] {
		case securityFlag:
			o.Security = args[1]
		case eventFlag:
			o.Event = args[1]
		default:
			return o, fmt.Errorf("unknown option %q", args[0])
		}

		args = args[2:]
	}

	if len(args) == 0 || len(args)%2 != 0 {
		return o, errors.New("give pairs of a pipe or socket to listen on, and one to connect to")
	}
	for i := 0; i < len(args); i += 2 {
		o.Relays = append(o.Relays, Relay{Listen: args[i], Dial: args[i+1]})
	}

	return o, nil
}

// Run carries connections until ctx ends, or one of the relays cannot listen any more. A connection whose other end is
// not there is closed.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	ended := make(chan error, len(o.Relays))
	for _, r := range o.Relays {
		l, err := listen(ctx, r.Listen, o.Security)
		if err != nil {
			return fmt.Errorf("listen on %s: %w", r.Listen, err)
		}
		defer context.AfterFunc(ctx, func() { _ = l.Close() })() // that Accept ends is all that is asked of it
		defer l.Close()
		go func() { ended <- serve(ctx, l, r.Dial) }()
	}

	if o.Event != "" {
		if err := setEvent(o.Event); err != nil {
			return fmt.Errorf("set event %q: %w", o.Event, err)
		}
	}

	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}

	return err
}

// IsPipe reports whether a path is the name of a pipe of this computer.
func IsPipe(name string) bool {
	return len(name) > len(Prefix) && strings.EqualFold(name[:len(Prefix)], Prefix)
}

func listen(ctx context.Context, name, security string) (net.Listener, error) {
	if IsPipe(name) {
		return listenPipe(name, security)
	}
	return (&net.ListenConfig{}).Listen(ctx, "unix", name)
}

func dial(ctx context.Context, name string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if IsPipe(name) {
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

		go func() {
			other, err := open(ctx, conn, to)
			if err != nil {
				_ = conn.Close() // which is all that a pipe's client can be told
				return
			}
			Join(ctx, conn, other)
		}()
	}
}

// open makes the connection that conn is for.
func open(ctx context.Context, conn net.Conn, to string) (net.Conn, error) {
	if to != Named {
		return dial(ctx, to)
	}
	user, pipe, err := hear(conn)
	if err != nil {
		return nil, err
	}
	return dialPipeFor(ctx, user, pipe)
}

// Join carries bytes between two connections, and returns when one of them has ended; then both are closed.
func Join(ctx context.Context, conn, other net.Conn) {
	defer conn.Close()
	defer other.Close()
	defer context.AfterFunc(ctx, func() { _, _ = conn.Close(), other.Close() })() // so that both copies end

	// A pipe has no half that can be closed: what one end has sent is delivered, then both are closed.
	var copies sync.WaitGroup
	for _, c := range [][2]net.Conn{{other, conn}, {conn, other}} {
		copies.Go(func() {
			_, _ = io.Copy(&taker{to: c[0]}, c[1]) // an end that breaks off is an end
			_, _ = c[0].Close(), c[1].Close()
		})
	}
	copies.Wait()
}

// taker writes to a connection as long as that takes anything. What it does not take is dropped, and no error: it may
// still have something to say, or what it has said may not be read yet. The end of that is the end of both.
type taker struct {
	to   io.Writer
	gone bool
}

func (t *taker) Write(p []byte) (int, error) {
	if !t.gone {
		_, err := t.to.Write(p)
		t.gone = err != nil
	}
	return len(p), nil
}
