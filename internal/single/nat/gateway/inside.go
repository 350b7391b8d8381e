package gateway

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// endPatience is how long the stack keeps a connection that is closed here, and that the container has not ended: what
// was sent last may still be taken. Linux keeps its own as long (ip-sysctl.rst, tcp_fin_timeout).
const endPatience = time.Minute

// timeWait is how long a port is kept from being used again after a connection. It guards against packets that are
// late, and between a container and its stack none is. The connection has its slot meanwhile, so it is short.
const timeWait = 100 * time.Millisecond

// inside is a connection of a container's stack. It keeps its slot until the stack has nothing of it any more, which is
// later than Close: a container that takes nothing and answers decides itself how long that is, and what waits for it
// takes memory.
type inside struct {
	*gonet.TCPConn
	container *container
	endpoint  tcpip.Endpoint
	queue     *waiter.Queue
	slots     slots

	once sync.Once
}

// newInside returns the connection of an endpoint, which takes over a slot that was taken.
func (c *container) newInside(queue *waiter.Queue, endpoint tcpip.Endpoint, taken slots) *inside {
	endpoint.SocketOptions().SetKeepAlive(true)
	return &inside{
		TCPConn:   gonet.NewTCPConn(queue, endpoint),
		container: c,
		endpoint:  endpoint,
		queue:     queue,
		slots:     taken,
	}
}

// Close ends the connection. It is safe to repeat.
func (i *inside) Close() error {
	i.once.Do(func() {
		entry, notice := waiter.NewChannelEntry(waiter.EventHUp)
		i.queue.EventRegister(&entry)
		_ = i.TCPConn.Close()
		go func() {
			defer i.slots.free()
			defer i.queue.EventUnregister(&entry)
			i.outlast(notice)
		}()
	})
	return nil
}

// outlast waits until the stack has nothing of the connection any more, and breaks it if that takes too long. The stack
// gives notice of each change of its state.
func (i *inside) outlast(notice <-chan struct{}) {
	ctx, cancel := context.WithTimeout(i.container.life, endPatience)
	defer cancel()

	for {
		switch tcp.EndpointState(i.endpoint.State()) {
		case tcp.StateClose, tcp.StateError:
			return
		}

		select {
		case <-notice:
		case <-ctx.Done():
			i.endpoint.Abort()
			return
		}
	}
}

// reset ends the connection as one that is broken: what waits is thrown away, and the container notices.
func (i *inside) reset() {
	i.endpoint.SocketOptions().SetLinger(tcpip.LingerOption{Enabled: true})
	_ = i.Close()
}

// errBusy is the error of a container that has as many connections as it may have.
var errBusy = errors.New("the container has too many connections")

// dialIn opens a connection to a port of the container, which sees it come from an address.
func (c *container) dialIn(ctx context.Context, from netip.Addr, port uint16) (stream, error) {
	if !c.incoming.take() {
		return nil, errBusy
	}
	queue := &waiter.Queue{}
	endpoint, err := c.connect(ctx, queue, from, port)
	if err != nil {
		c.incoming.free()
		return nil, err
	}
	return c.newInside(queue, endpoint, c.incoming), nil
}

// connect opens the endpoint of dialIn, as gonet.DialTCPWithBind does, which keeps it to itself.
func (c *container) connect(
	ctx context.Context, queue *waiter.Queue, from netip.Addr, port uint16,
) (tcpip.Endpoint, error) {
	endpoint, failed := c.stack.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, queue)
	if failed != nil {
		return nil, errors.New(failed.String())
	}
	entry, notice := waiter.NewChannelEntry(waiter.WritableEvents)
	queue.EventRegister(&entry)
	defer queue.EventUnregister(&entry)

	failed = endpoint.Bind(at(netip.AddrPortFrom(from, 0)))
	if failed == nil {
		failed = endpoint.Connect(at(netip.AddrPortFrom(c.addr, port)))
	}

	if _, started := failed.(*tcpip.ErrConnectStarted); started {
		select {
		case <-notice:
			failed = endpoint.LastError()
		case <-ctx.Done():
			endpoint.Close()
			return nil, ctx.Err()
		}
	}
	if failed != nil {
		endpoint.Close()
		return nil, errors.New(failed.String())
	}

	return endpoint, nil
}

// handed is a listener of connections that were accepted elsewhere.
type handed struct {
	container *container
	streams   chan net.Conn
	addr      net.Addr
}

// hand hands a connection to whoever accepts.
func (h *handed) hand(stream net.Conn) {
	select {
	case h.streams <- stream:
	case <-h.container.life.Done():
		_ = stream.Close()
	}
}

// Accept returns the next connection.
func (h *handed) Accept() (net.Conn, error) {
	select {
	case stream := <-h.streams:
		return stream, nil
	case <-h.container.life.Done():
		return nil, net.ErrClosed
	}
}

// Close does nothing: the listener ends with the container.
func (h *handed) Close() error { return nil }

// Addr returns where it listens.
func (h *handed) Addr() net.Addr { return h.addr }
