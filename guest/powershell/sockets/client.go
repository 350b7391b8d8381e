// Package sockets owns the class System.Net.Sockets.TcpClient, by which scripts wait for a server and speak with it.
package sockets

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/stream"
)

const socketException = "System.Net.Sockets.SocketException"

// tcpClient is an object of the class.
type tcpClient struct {
	mu     sync.Mutex
	conn   net.Conn
	closed bool
}

// attempt is a connection that is being made: a Task, and the IAsyncResult of BeginConnect.
type attempt struct {
	done chan struct{} // closed at the end
	err  error
}

// connect makes the connection to a host, by a name or an address, and a port.
func (t *tcpClient) connect(ctx context.Context, host string, port int64) error {
	if port < 0 || port > 65535 {
		return object.Raise("System.ArgumentOutOfRangeException",
			"Specified argument was out of the range of valid values.\nParameter name: port")
	}
	t.mu.Lock()
	closed, connected := t.closed, t.conn != nil
	t.mu.Unlock()
	switch {
	case closed:
		return object.Raise("System.ObjectDisposedException",
			"Cannot access a disposed object.\nObject name: 'System.Net.Sockets.TcpClient'.")
	case connected:
		return object.Raise(socketException, "A connect request was made on an already connected socket")
	}

	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.FormatInt(port, 10)))
	if err != nil {
		return socketError(err, host, port)
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed { // meanwhile
		return conn.Close()
	}
	t.conn = conn
	return nil
}

// socketError returns the error of a connection in Windows' words.
func socketError(err error, host string, port int64) error {
	at := fmt.Sprintf(" %s:%d", host, port)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		at = " " + op.Addr.String()
	}
	_, unknown := errors.AsType[*net.DNSError](err)
	switch {
	case unknown:
		return object.Raise(socketException, "No such host is known")
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, wsaRefused):
		return object.Raise(socketException,
			"No connection could be made because the target machine actively refused it"+at)
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, wsaUnreachable):
		return object.Raise(socketException, "A socket operation was attempted to an unreachable network"+at)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, wsaNoHost):
		return object.Raise(socketException, "A socket operation was attempted to an unreachable host"+at)
	case errors.Is(err, context.Canceled):
		return err
	}
	return object.Raise(socketException, "A connection attempt failed because the connected party did not properly "+
		"respond after a period of time, or established connection failed because connected host has failed to respond"+at)
}

// Windows' own numbers of errors of sockets (winsock.h), by which programs of Windows know them.
const (
	wsaUnreachable = syscall.Errno(10051)
	wsaRefused     = syscall.Errno(10061)
	wsaNoHost      = syscall.Errno(10065)
)

// begin makes the connection while the script goes on.
func (t *tcpClient) begin(ctx context.Context, host string, port int64) *attempt {
	a := &attempt{done: make(chan struct{})}
	go func() {
		a.err = t.connect(ctx, host, port)
		close(a.done)
	}()
	return a
}

// within waits for the end for so many milliseconds, for ever if that is -1, and reports whether it came.
func (a *attempt) within(ctx context.Context, c *object.Call) (bool, error) {
	most := int64(-1)
	if len(c.Args) > 0 {
		var err error
		if most, err = milliseconds(c.Arg(0)); err != nil {
			return false, err
		}
	}

	var late <-chan time.Time
	if most >= 0 {
		late = time.After(time.Duration(most) * time.Millisecond)
	}
	select {
	case <-a.done:
		return true, nil
	case <-late:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// milliseconds returns a time for waiting: a number, or a TimeSpan.
func milliseconds(v object.Value) (int64, error) {
	if span, ok := v.(*object.Instance); ok && span.Of.Name == object.SpanClass().Name {
		return object.Own[time.Duration](v).Milliseconds(), nil
	}
	return object.Integer(v)
}

func (t *tcpClient) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.conn == nil {
		return nil
	}
	err := t.conn.Close()
	t.conn = nil
	return err
}

// stream returns what is read from the connection, and written to it.
func (t *tcpClient) stream() (object.Value, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	conn := t.conn
	if conn == nil {
		return nil, object.Raise("System.InvalidOperationException",
			"The operation is not allowed on non-connected sockets.")
	}
	write := func(data []byte) error {
		_, err := conn.Write(data)
		return err
	}
	both := &stream.Stream{
		R:     conn,
		Write: write,
		Close: t.close,
	}
	return &object.Instance{Of: stream.Class(), V: both}, nil
}

// Class returns the class System.Net.Sockets.TcpClient
// (https://learn.microsoft.com/en-us/dotnet/api/system.net.sockets.tcpclient), without families and options.
func Class() *object.Class {
	type method = func(c *object.Call) (object.Value, error)
	ask := func(do func(t *tcpClient, c *object.Call) (object.Value, error)) method {
		return func(c *object.Call) (object.Value, error) { return do(object.Own[*tcpClient](c.On), c) }
	}

	// begins makes a method that begins to connect, and returns what of stands for.
	begins := func(of func() *object.Class) method {
		return ask(func(t *tcpClient, c *object.Call) (object.Value, error) {
			port, err := c.Whole(1)
			if err != nil {
				return nil, err
			}
			return &object.Instance{Of: of(), V: t.begin(c.State.Whole, c.Text(0), port)}, nil
		})
	}
	connect := ask(func(t *tcpClient, c *object.Call) (object.Value, error) {
		port, err := c.Whole(1)
		if err != nil {
			return nil, err
		}
		return nil, t.connect(c.State.Context, c.Text(0), port)
	})
	end := ask(func(t *tcpClient, _ *object.Call) (object.Value, error) { return nil, t.close() })

	return &object.Class{
		Name: "System.Net.Sockets.TcpClient",
		Make: &object.Method{Most: 2, Do: func(c *object.Call) (object.Value, error) {
			if len(c.Args) == 1 {
				return nil, object.Thrown("New-Object System.Net.Sockets.TcpClient of an address or a family is not part " +
					"of Mullion's PowerShell.")
			}
			t := &tcpClient{}
			made := &object.Instance{Of: Class(), V: t}
			c.State.Closers = append(c.State.Closers, func() { _ = t.close() }) // when the session ends
			if len(c.Args) == 0 {
				return made, nil
			}
			_, err := connect(&object.Call{
				State: c.State,
				On:    made,
				Args:  c.Args,
			})
			return made, err
		}},
		Props: []object.Field{{
			Name: "Connected",
			Get: func(_ *session.State, v object.Value) (object.Value, error) {
				t := object.Own[*tcpClient](v)
				t.mu.Lock()
				defer t.mu.Unlock()
				return t.conn != nil, nil
			},
		}},
		Methods: []object.Method{
			{Name: "Connect", Least: 2, Most: 2, Do: connect},
			{Name: "ConnectAsync", Least: 2, Most: 2, Do: begins(taskClass)},
			{Name: "BeginConnect", Least: 4, Most: 4, Do: begins(resultClass)},
			{Name: "EndConnect", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
				i, ok := c.Arg(0).(*object.Instance)
				if !ok || i.Of.Name != resultClass().Name {
					return nil, object.Raise(object.ArgumentException, "The IAsyncResult object was not returned from "+
						"the corresponding asynchronous method on this class.\nParameter name: asyncResult")
				}
				a := object.Own[*attempt](i)
				if _, err := a.within(c.State.Context, &object.Call{}); err != nil {
					return nil, err
				}
				return nil, a.err
			}},
			{Name: "GetStream", Do: ask(func(t *tcpClient, _ *object.Call) (object.Value, error) { return t.stream() })},
			{Name: "Close", Do: end},
			{Name: "Dispose", Do: end},
		},
	}
}

// over returns a property of an attempt that is $false while it is on its way.
func over(name string, get func(a *attempt) bool) object.Field {
	return object.Field{
		Name: name,
		Get: func(_ *session.State, v object.Value) (object.Value, error) {
			a := object.Own[*attempt](v)
			select {
			case <-a.done:
				return get(a), nil
			default:
				return false, nil
			}
		},
	}
}

// taskClass returns the class of what ConnectAsync returns. Wait throws what the connection failed for.
func taskClass() *object.Class {
	return &object.Class{
		Name: "System.Threading.Tasks.Task",
		Props: []object.Field{
			over("IsCompleted", func(*attempt) bool { return true }),
			over("IsFaulted", func(a *attempt) bool { return a.err != nil }),
		},
		Methods: []object.Method{{Name: "Wait", Most: 1, Do: func(c *object.Call) (object.Value, error) {
			a := object.Own[*attempt](c.On)
			came, err := a.within(c.State.Context, c)
			if came && a.err != nil {
				return nil, object.Raise("System.AggregateException", "One or more errors occurred.")
			}
			if len(c.Args) == 0 {
				return nil, err
			}
			return came, err
		}}},
	}
}

// resultClass returns the class of what BeginConnect returns, which is its own handle to wait for.
func resultClass() *object.Class {
	return &object.Class{
		Name: "System.IAsyncResult",
		Props: []object.Field{
			over("IsCompleted", func(*attempt) bool { return true }),
			{
				Name: "AsyncWaitHandle",
				Get: func(_ *session.State, v object.Value) (object.Value, error) {
					return &object.Instance{Of: handleClass(), V: object.Own[*attempt](v)}, nil
				},
			},
		},
	}
}

func handleClass() *object.Class {
	return &object.Class{
		Name: "System.Threading.WaitHandle",
		Methods: []object.Method{
			{Name: "WaitOne", Most: 2, Do: func(c *object.Call) (object.Value, error) {
				came, err := object.Own[*attempt](c.On).within(c.State.Context, c)
				return came, err
			}},
			{Name: "Close", Do: func(*object.Call) (object.Value, error) { return nil, nil }}, // it holds nothing
		},
	}
}
