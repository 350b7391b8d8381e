package server

import (
	"context"
	"strings"
	"time"

	"mullion.dev/mullion/internal/network/hns"
)

// Bounds of a trace: how many calls wait for a reader, after which the rest is dropped and counted, and how many bytes
// of each text are kept.
const (
	mostTraced  = 1024
	mostOfTrace = 32 << 10
)

// tracer is somebody who is told of calls.
type tracer struct {
	calls   chan hns.TracedCall
	dropped int
}

// Trace tells of the calls that programs make from now on, until ctx ends; then the channel is closed. Calls never wait
// for it.
func (s *Service) Trace(ctx context.Context) <-chan hns.TracedCall {
	t := &tracer{calls: make(chan hns.TracedCall, mostTraced)}
	s.tracing.Lock()
	defer s.tracing.Unlock()
	s.tracers[t] = true
	context.AfterFunc(ctx, func() {
		s.tracing.Lock()
		defer s.tracing.Unlock()
		delete(s.tracers, t)
		close(t.calls)
	})
	return t.calls
}

// traced tells those who trace of a call that began at begun.
func (s *Service) traced(begun time.Time, peer *session, r hns.Request, reply hns.Reply, err error) {
	s.tracing.Lock()
	defer s.tracing.Unlock()
	if len(s.tracers) == 0 {
		return
	}

	c := hns.TracedCall{
		At:       begun,
		Took:     time.Since(begun),
		Client:   peer.remote,
		Function: r.Function,
		Object:   r.Object,
		Made:     reply.Object,
		Reply:    shortened(reply.Text),
		Listed:   len(reply.Listed),
	}

	for _, text := range r.Text {
		c.Text = append(c.Text, shortened(text))
	}

	if err != nil {
		c.Error = err.Error()
	}

	for t := range s.tracers {
		c.Dropped = t.dropped
		select {
		case t.calls <- c:
			t.dropped = 0
		default:
			t.dropped++
		}
	}
}

func shortened(text string) string {
	if len(text) <= mostOfTrace {
		return text
	}
	return strings.ToValidUTF8(text[:mostOfTrace], "") + "…"
}
