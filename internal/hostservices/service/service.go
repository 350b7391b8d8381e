// Package service is what the services of a Windows host have in common: a service is opened, listens at its sockets
// and answers requests (package hostcall), and may have work of its own. It does not know what is asked for.
package service

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

// Service is a service of a host, whatever its requests are.
type Service interface {
	Name() hostcall.Name
	// Start opens the service, and has it answer until ctx ends. What wait returns from has ended then.
	Start(ctx context.Context, at Sockets) (wait func(), err error)
}

// Sockets are the paths of the Unix sockets where a service is asked: by the host's programs, whose pipe leads there,
// and by the machine's operator, of whom Windows programs do not see the socket.
type Sockets struct{ Host, Operator string }

// Of is a service with requests Q and answers A.
type Of[Q, A any] struct {
	Call hostcall.Call[Q, A]
	// Within bounds a request.
	Within time.Duration
	// Open takes over what an earlier life of the agent has left; nil: it leaves nothing.
	Open func(ctx context.Context) error
	// Answer carries out a request that Call lets pass. Several goroutines call it.
	Answer func(ctx context.Context, request Q) (A, error)
	// Watch does what nobody asks for, until ctx ends; nil: there is nothing to do.
	Watch func(ctx context.Context)
	// Shown returns what the log says of a request, as keys and values: nothing that is secret.
	Shown func(request Q) []any
	Log   *slog.Logger
}

// Name returns the service's name.
func (s Of[Q, A]) Name() hostcall.Name { return s.Call.Name }

// Start implements Service.
func (s Of[Q, A]) Start(ctx context.Context, at Sockets) (wait func(), err error) {
	if s.Open != nil {
		if err := s.Open(ctx); err != nil {
			return nil, err
		}
	}

	host, err := unixsocket.Listen(ctx, at.Host)
	if err != nil {
		return nil, err
	}

	var operator net.Listener
	if s.Call.Operator != nil {
		if operator, err = unixsocket.Listen(ctx, at.Operator); err != nil {
			return nil, errors.Join(err, host.Close())
		}
	}

	var all sync.WaitGroup
	all.Go(func() { s.serve(ctx, host, false) })
	if operator != nil {
		all.Go(func() { s.serve(ctx, operator, true) })
	}
	if s.Watch != nil {
		all.Go(func() { s.Watch(ctx) })
	}

	return all.Wait, nil
}

// serve answers on l until ctx ends.
func (s Of[Q, A]) serve(ctx context.Context, l net.Listener, operator bool) {
	answer := func(conn io.Reader) any {
		a, err := s.answer(ctx, conn, operator)
		if err != nil {
			return s.Call.Refuse(err)
		}
		return a
	}
	failed := func(err error) { s.Log.Warn("send an answer", "error", err) }
	if err := unixsocket.Answer(ctx, l, s.Within, answer, failed); err != nil {
		s.Log.Error("serve requests of the host", "error", err)
	}
}

// answer reads a request and carries it out.
func (s Of[Q, A]) answer(ctx context.Context, conn io.Reader, operator bool) (answer A, err error) {
	request, err := s.Call.Hear(conn, operator)
	if err != nil {
		return answer, err
	}
	if answer, err = s.Answer(ctx, request); err != nil {
		s.Log.Warn("carry out a request of the host", append(s.Shown(request), "error", err)...)
	}
	return answer, err
}
