package server

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"mullion.dev/mullion/internal/network/hns"
)

const (
	helloTimeout = 5 * time.Second
	// frameTimeout is how long a frame may take once its first byte has arrived; between requests a client may wait.
	frameTimeout = 30 * time.Second
	maxClients   = 1024
	// leaveTimeout is how long a stopping server still reads from its clients, without answering.
	leaveTimeout = 200 * time.Millisecond
)

// Serve answers DLLs on the listener until ctx ends; then it closes the listener and the connections and returns nil.
// The listener must be on the loopback of the Windows host's own network namespace; the token keeps out other programs
// there.
func (s *Service) Serve(ctx context.Context, l net.Listener, token string) error {
	if token == "" {
		return errors.New("serve HNS: the token is empty")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()

	slots := make(chan struct{}, maxClients)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}

		c, err := l.Accept()
		if err != nil {
			cancel()
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}

		wg.Go(func() {
			defer func() { <-slots }()
			s.converse(ctx, c, token)
		})
	}
}

// converse serves one connection until the client leaves, breaks the protocol, or ctx ends.
func (s *Service) converse(ctx context.Context, c net.Conn, token string) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer func() { stop(); s.leave(ctx, c) }()
	_ = c.SetDeadline(time.Now().Add(helloTimeout))
	hello, err := readFrame(c, maxHello)
	if err != nil || len(hello) < 2 || (string(hello[0]) != helloMagic && string(hello[0]) != helloOld) ||
		subtle.ConstantTimeCompare(hello[1], []byte(token)) != 1 {
		s.cfg.Log.Warn("HNS client refused", "remote", c.RemoteAddr().String())
		return
	}

	peer := &session{remote: c.RemoteAddr().String(), named: string(hello[0]) == helloMagic}
	defer s.releaseAll(peer)

	copies := len(hello) > 2 && string(hello[2]) == withCopies
	for ctx.Err() == nil {
		_ = c.SetDeadline(time.Time{})
		if ctx.Err() != nil { // if ctx ended since the check above, the line before has overwritten its deadline
			return
		}

		fields, err := readFrame(&patient{c: c}, maxRequest)
		if err != nil {
			return
		}
		answer, events := s.answer(ctx, peer, fields, copies)
		if peer.then != nil {
			s.hand(ctx, c, answer, peer.then)
			return
		}
		_ = c.SetDeadline(time.Now().Add(frameTimeout))
		if _, err = c.Write(answer); err != nil {
			s.forget(events)
			return
		}

		if events != nil {
			s.report(ctx, c, events)
			return
		}
	}
}

// hand gives a connection away, with the answer that it begins with, until then returns, or ctx ends.
func (s *Service) hand(ctx context.Context, c net.Conn, answer []byte,
	then func(ctx context.Context, c net.Conn, answer []byte),
) {
	_ = c.SetReadDeadline(time.Time{})
	_ = c.SetWriteDeadline(time.Now().Add(frameTimeout)) // of the answer; a stream is handed over without a deadline
	// The deadline that ended the reads may just have been overwritten. The answer is still written.
	if ctx.Err() != nil {
		_ = c.SetReadDeadline(time.Unix(1, 0))
	}
	then(ctx, c, answer)
}

// leave ends a connection. When the service stops, a request may be on its way. Closing only our side first, and not
// resetting the connection, tells the client that it may send the request to the next server.
func (s *Service) leave(ctx context.Context, c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok && ctx.Err() != nil && half.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(leaveTimeout))
		_, _ = io.Copy(io.Discard, c)
	}
	_ = c.Close()
}

// answer carries out one request. Once read, a request runs to its end even if the client is gone: half a request would
// leave kernel and state different. After a request to watch, the connection carries events.
func (s *Service) answer(ctx context.Context, peer *session, fields [][]byte, withCopies bool) ([]byte, *watcher) {
	begun := time.Now()
	decode := decodeRequest
	if peer.named {
		decode = decodeNamed
	}
	r, err := decode(fields)
	var reply hns.Reply
	var copies [][]byte
	var events *watcher
	c := s.calls[r.Function]
	switch {
	case err != nil:
	case c.Operation == hns.Reserve:
		reply, err = s.reserve(peer, r)
	case c.Operation == hns.Release:
		err = s.release(peer, r.Object)
	case c.Operation == hns.ListReserved:
		reply = s.listReserved()
	case c.Operation == hns.Watch:
		events, err = s.watch(c.Kind, r.Object)
	case s.cfg.Compute != nil && c.Name == "":
		var computed Computed
		computed, err = s.cfg.Compute(ctx, r)
		reply, peer.then = computed.Reply, computed.Then

	default:
		reply, copies, err = s.call(context.WithoutCancel(ctx), r, withCopies)
	}

	s.traced(begun, peer, r, reply, err)
	if err != nil {
		s.refused(ctx, begun, peer, r, err)
	}

	return response(reply, copies, err), events
}

// refused logs at debug that a request was refused, and why.
func (s *Service) refused(ctx context.Context, begun time.Time, peer *session, r hns.Request, err error) {
	if !s.cfg.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("remote", peer.remote),
		slog.String("function", r.Function),
		slog.Duration("took", time.Since(begun)),
	}

	if r.Object != "" {
		attrs = append(attrs, slog.String("object", r.Object))
	}

	// The model's answers are what a program of Windows reads; Text is what it asked for.
	for _, text := range r.Text {
		attrs = append(attrs, slog.String("text", shortened(text)))
	}

	s.cfg.Log.LogAttrs(ctx, slog.LevelDebug, "HNS request refused", append(attrs, slog.Any("error", err))...)
}

// patient waits for a frame's first byte without a limit, and then gives the rest frameTimeout.
type patient struct {
	c       net.Conn
	started bool
}

func (p *patient) Read(b []byte) (int, error) {
	n, err := p.c.Read(b)
	if n > 0 && !p.started {
		p.started = true
		_ = p.c.SetReadDeadline(time.Now().Add(frameTimeout))
	}
	return n, err
}
