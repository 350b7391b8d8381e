package tcpbalancer

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// link is a client's connection joined with one to a server.
type link struct{ client, server net.Conn }

// keepAlive finds the other side of a connection gone after about half a minute.
func keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{
		Enable:   true,
		Idle:     15 * time.Second,
		Interval: 5 * time.Second,
		Count:    3,
	}
}

// copy copies both ways until both sides have ended, one of them has failed, or ctx ends. After the end of one side the
// other has halfOpen to end too.
func (l *link) copy(ctx context.Context, halfOpen time.Duration) {
	defer context.AfterFunc(ctx, l.close)()
	defer l.close()
	for _, c := range []net.Conn{l.client, l.server} {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetKeepAliveConfig(keepAlive()) // a connection that has ended already
		}
	}

	var both sync.WaitGroup
	half := func(to, from net.Conn) {
		if !pass(to, from) {
			l.close()
			return
		}
		end := time.Now().Add(halfOpen)
		_ = l.client.SetDeadline(end) // as above
		_ = l.server.SetDeadline(end)
	}

	both.Go(func() { half(l.server, l.client) })
	both.Go(func() { half(l.client, l.server) })
	both.Wait()
}

// close ends both connections, and so copy. It may be called more than once.
func (l *link) close() {
	l.client.Close()
	l.server.Close()
}

// pass copies what comes from one side to the other, and passes on its end. False means that a side failed.
func pass(to, from net.Conn) bool {
	if _, err := io.Copy(to, from); err != nil {
		return false
	}
	closer, ok := to.(interface{ CloseWrite() error })
	return ok && closer.CloseWrite() == nil
}
