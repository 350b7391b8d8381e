package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// openPatience is how long the opening of a connection may take: that of Windows, which gives up after 21 seconds.
const openPatience = 25 * time.Second

// errNobody is the error of an address of the network that no container has.
var errNobody = errors.New("no container has the address")

// forwardTCP opens for the container the connection that it wants to open. Its own is open when that is: so a refusal
// is one for the container.
func (c *container) forwardTCP(r *tcp.ForwarderRequest) {
	if !c.outgoing.take() {
		r.Complete(false) // it asks again
		return
	}

	from, to := ends(r.ID())
	if to == c.server.dnsAt() {
		if own := c.accept(r); own != nil {
			c.questions.hand(own)
		}
		return
	}

	ctx, cancel := context.WithTimeout(c.life, openPatience)
	defer cancel()
	out, err := c.dial(ctx, from, to)
	if err != nil {
		// Who gets no answer gives none.
		r.Complete(!isTimeout(err) && !errors.Is(err, errBusy))
		c.outgoing.free()
		return
	}

	own := c.accept(r)
	if own == nil {
		_ = out.Close()
		return
	}
	c.relay(own, out)
}

// accept opens the container's side of a connection for which a slot is taken. If it returns nil, that is free again.
func (c *container) accept(r *tcp.ForwarderRequest) *inside {
	queue := &waiter.Queue{}
	endpoint, failed := r.CreateEndpoint(queue)
	r.Complete(failed != nil)
	if failed != nil {
		c.outgoing.free()
		return nil
	}
	return c.newInside(queue, endpoint, c.outgoing)
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return (ok && t.Timeout()) || errors.Is(err, context.DeadlineExceeded)
}

// stream is a connection of TCP, of the machine or of a stack.
type stream interface {
	net.Conn
	CloseWrite() error
}

// dial opens a connection for the container: by a socket of the machine, or in the stack of another container.
func (c *container) dial(ctx context.Context, from, to netip.AddrPort) (stream, error) {
	if c.server.subnet.Contains(to.Addr()) {
		peer := c.server.peer(to.Addr())
		if peer == nil || peer == c {
			return nil, errNobody
		}
		return peer.dialIn(ctx, from.Addr(), to.Port())
	}

	if err := c.server.guard.check(to.Addr()); err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp4", to.String())
	if err != nil {
		return nil, err
	}

	tcpConn, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s: no connection of TCP", to), conn.Close())
	}
	return tcpConn, nil
}

// relay carries both ways until both have ended, one is broken, or the container is gone.
func (c *container) relay(a, b stream) {
	stop := context.AfterFunc(c.life, func() {
		_ = a.Close()
		_ = b.Close()
	})
	defer stop()

	var both sync.WaitGroup
	carry := func(to, from stream) {
		if _, err := io.Copy(to, from); err != nil {
			reset(a)
			reset(b)
			return
		}
		_ = to.CloseWrite() // whoever reads there notices
	}
	both.Go(func() { carry(a, b) })
	both.Go(func() { carry(b, a) })
	both.Wait()
	_ = a.Close()
	_ = b.Close()
}

// reset ends a connection as one that is broken.
func reset(s stream) {
	switch own := s.(type) {
	case *inside:
		own.reset()
		return
	case *net.TCPConn:
		_ = own.SetLinger(0) // else it ends as others do
	}
	_ = s.Close()
}

// serveTCP leads what connects to a published port to the container.
func (c *container) serveTCP(file *os.File, port uint16) error {
	listener, err := net.FileListener(file)
	if err != nil {
		return err
	}
	if !c.keep(listener) {
		return net.ErrClosed
	}

	go func() {
		defer c.drop(listener)
		for {
			conn, err := listener.Accept()
			if err != nil {
				if !c.pause(err) {
					return
				}
				continue
			}
			go c.accepted(conn, port)
		}
	}()

	return nil
}

// acceptPause is how long nothing is accepted after an error: too many open files.
const acceptPause = 20 * time.Millisecond

// pause waits a moment after an error of a socket. It returns false if the socket is closed.
func (c *container) pause(err error) bool {
	if errors.Is(err, net.ErrClosed) {
		return false
	}
	select {
	case <-time.After(acceptPause):
		return true
	case <-c.life.Done():
		return false
	}
}

// accepted leads one connection to the container.
func (c *container) accepted(conn net.Conn, port uint16) {
	outside, ok := conn.(*net.TCPConn)
	if !ok {
		_ = conn.Close()
		return
	}
	ctx, cancel := context.WithTimeout(c.life, openPatience)
	inside, err := c.dialIn(ctx, c.server.gateway, port)
	cancel()
	if err != nil {
		reset(outside)
		return
	}
	c.relay(inside, outside)
}
