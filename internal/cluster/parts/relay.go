package parts

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/places"
)

// mostRelayed bounds the connections of a relay at a time. Further ones are closed, and so are those of a client that
// has more than its share, lest a greedy one has all (package places).
const mostRelayed = 4096

// lingering is how long a client may go on talking to a server that says nothing any more: it may have gone.
const lingering = 30 * time.Second

// fullPause is the time between two lines of the log that say that clients were turned away.
const fullPause = time.Minute

// acceptPause is how long no client is let in when the machine had no room for one.
const acceptPause = 200 * time.Millisecond

// relay copies bytes between the connections of a listener and those that it makes for them, and passes on the end of
// each direction by itself. When the server's has ended, the client's does so within a while. It does not see what is
// in them.
type relay struct {
	listener net.Listener
	dial     func(context.Context) (net.Conn, error)
	log      *slog.Logger

	ctx    context.Context //nolint:containedctx // that of the relay's life, which close ends
	cancel context.CancelFunc
	places *places.Places[relayClient]
	linger time.Duration // lingering, but in a test
	done   sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil when it is closed
}

// startRelay serves l until close. ctx bounds nothing.
func startRelay(ctx context.Context, l net.Listener, dial func(context.Context) (net.Conn, error),
	log *slog.Logger,
) *relay {
	r := newRelay(ctx, l, dial, log)
	r.done.Go(r.serve)
	return r
}

func newRelay(ctx context.Context, l net.Listener, dial func(context.Context) (net.Conn, error),
	log *slog.Logger,
) *relay {
	r := &relay{
		listener: l,
		dial:     dial,
		log:      log,
		places:   places.New[relayClient](mostRelayed),
		linger:   lingering,
		conns:    map[net.Conn]struct{}{},
	}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// close ends the listener and every connection.
func (r *relay) close() error {
	r.cancel()
	err := r.listener.Close()
	r.mu.Lock()
	for c := range r.conns {
		_ = c.Close() // it may have ended
	}
	r.conns = nil
	r.mu.Unlock()
	r.done.Wait()
	return err
}

func (r *relay) serve() {
	var told time.Time
	for {
		conn, err := r.listener.Accept()
		if r.ctx.Err() != nil {
			if err == nil {
				_ = conn.Close() // nobody serves it any more
			}
			return
		}

		if err != nil {
			r.log.Warn("a client was not let in", "at", r.listener.Addr().String(), "error", err)
			if !pause(r.ctx) {
				return
			}
			continue
		}

		client := clientOf(conn)
		if r.places.Take(client) {
			r.done.Go(func() {
				defer r.places.Give(client)
				r.pipe(conn)
			})
			continue
		}

		_ = conn.Close() // it has too many already
		if time.Since(told) > fullPause {
			told = time.Now()
			r.log.Warn("a client has too many connections: further ones are closed", "at", r.listener.Addr().String(),
				"client", client.String())
		}
	}
}

// pause waits a moment after an error of a socket, which may stay. It returns false when ctx is over.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(acceptPause):
		return true
	case <-ctx.Done():
		return false
	}
}

// track remembers a connection for close; false when that has been called, and then the connection is closed.
func (r *relay) track(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns == nil {
		_ = c.Close()
		return false
	}
	r.conns[c] = struct{}{}
	return true
}

func (r *relay) forget(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
	_ = c.Close() // what there was to send is sent
}

func (r *relay) pipe(client net.Conn) {
	if !r.track(client) {
		return
	}
	defer r.forget(client)
	server, err := r.dial(r.ctx)
	if err != nil {
		r.log.Debug("connect a client", "at", r.listener.Addr().String(), "error", err)
		return
	}

	if !r.track(server) {
		return
	}
	defer r.forget(server)

	var both, watch sync.WaitGroup
	both.Go(func() {
		hearing(server, client)
		watch.Go(func() {
			if hungUp(client) {
				_ = server.Close() // nobody is there to hear more
			}
		})
	})
	both.Go(func() {
		halfCopy(client, server)
		end := time.Now().Add(r.linger)
		_ = client.SetReadDeadline(end)
		_ = server.SetWriteDeadline(end) // either may have ended
	})
	both.Wait()
	_ = client.Close() // ends the watch
	watch.Wait()
}

// hearing copies what a client says, and passes on its end. A server that does not hear any more may still speak, and
// what it has said may not be read yet, so its connection is not closed: that is for the end of what it says, and for
// whoever sees that the client is gone.
func hearing(server, client net.Conn) {
	_, err := io.Copy(server, client)
	if half, ok := server.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // it may be broken
	} else {
		server.Close()
	}
	if err != nil {
		// To close a connection with something unread resets it, and what was sent on it may be lost.
		_, _ = io.Copy(io.Discard, client)
	}
}

// halfCopy copies one direction and passes on its end.
func halfCopy(to, from net.Conn) {
	_, err := io.Copy(to, from)
	closer, ok := to.(interface{ CloseWrite() error })
	if err != nil || !ok || closer.CloseWrite() != nil {
		to.Close()
	}
}

// hungUp waits until the other side of a connection, which has ended its direction already, takes nothing any more
// either, and returns true. It returns false if that cannot be seen, or the connection is closed meanwhile. Without it
// the stream of a client that has gone would stay open until the server has something to say.
func hungUp(c net.Conn) bool {
	conn, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}

	gone := false
	err = raw.Read(func(fd uintptr) bool { // called again when the kernel tells of a change
		poll := []unix.PollFd{{Fd: int32(fd)}} // a descriptor is a small number
		_, err := unix.Poll(poll, 0)
		gone = poll[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
		return gone || (err != nil && !errors.Is(err, unix.EINTR))
	})

	return err == nil && gone
}
