package parts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"mullion.dev/mullion/internal/process/component"
)

// APIForwarder is the unit that Forwarder is.
func APIForwarder() component.ID { return component.Sole("api-forwarder") }

// Forwarder is the component that lets the machine reach the API server: it listens in the machine's own network
// namespace and copies bytes to an address in the fabric's. It does not see into TLS.
type Forwarder struct {
	Listen string // host:port in the machine's namespace
	Target string // host:port in the fabric
	// Dial connects from within the fabric.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Log  *slog.Logger

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]struct{}
	done     sync.WaitGroup
}

// ID is the component's.
func (f *Forwarder) ID() component.ID { return APIForwarder() }

// Start listens and serves until Stop.
func (f *Forwarder) Start(ctx context.Context) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", f.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s for the API server: %w", f.Listen, err)
	}
	f.mu.Lock()
	f.listener, f.conns = l, map[net.Conn]struct{}{}
	f.mu.Unlock()
	f.done.Go(func() { f.serve(context.WithoutCancel(ctx), l) })
	return nil
}

// Stop closes the listener and every connection.
func (f *Forwarder) Stop(context.Context) error {
	f.mu.Lock()
	if f.listener == nil {
		f.mu.Unlock()
		return nil
	}
	err := f.listener.Close()
	f.listener = nil
	for c := range f.conns {
		if closeErr := c.Close(); !errors.Is(closeErr, net.ErrClosed) {
			err = errors.Join(err, closeErr)
		}
	}
	f.mu.Unlock()
	f.done.Wait()
	return err
}

func (f *Forwarder) serve(ctx context.Context, l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				f.Log.Error("accept on the API server's forwarder", "error", err)
			}
			return
		}
		f.done.Go(func() {
			if err := f.pipe(ctx, client); err != nil {
				f.Log.Debug("forward to the API server", "error", err)
			}
		})
	}
}

// track remembers a connection for Stop; false when Stop has been called.
func (f *Forwarder) track(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listener == nil {
		return false
	}
	f.conns[c] = struct{}{}
	return true
}

func (f *Forwarder) forget(c net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
	c.Close()
}

func (f *Forwarder) pipe(ctx context.Context, client net.Conn) error {
	if !f.track(client) {
		return client.Close()
	}
	defer f.forget(client)
	server, err := f.Dial(ctx, "tcp", f.Target)
	if err != nil {
		return err
	}
	if !f.track(server) {
		return server.Close()
	}
	defer f.forget(server)
	var both sync.WaitGroup
	both.Go(func() { halfCopy(server, client) })
	both.Go(func() { halfCopy(client, server) })
	both.Wait()
	return nil
}

// halfCopy copies one direction and passes on its end.
func halfCopy(to, from net.Conn) {
	_, err := io.Copy(to, from)
	closer, ok := to.(interface{ CloseWrite() error })
	if err != nil || !ok || closer.CloseWrite() != nil {
		to.Close()
	}
}
