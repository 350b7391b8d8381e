package hcs

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
)

// Answer is what a call gets.
type Answer struct {
	// Text is the document that a call answers with.
	Text string
	// Process, unless nil, is what a program learns of a process.
	Process *ProcessInfo
	// GUID is that of NameToGuid.
	GUID string
	// Events or Stream, unless nil, has the connection of the call from then on, until it ends: Events carries events,
	// Stream bytes. Stream writes the answer, too.
	Events *Subscription
	Stream func(ctx context.Context, conn net.Conn, answer []byte)
}

// ProcessInfo is what a program learns of a process: its id, and which of its streams it may connect to, a bit each.
type ProcessInfo struct{ PID, Streams uint32 }

// Subscription is a handle of a program: events of what it has opened, and that it has it open, until Leave.
type Subscription struct {
	Events <-chan Event
	Leave  func()
}

// Call carries out a function, by its name. text are its texts in their order; of layers' functions the parents' paths
// are one text, with a line each. ctx may have the name of the request (WithRequest).
func (s *Service) Call(ctx context.Context, function string, text []string) (Answer, error) {
	c, ok := table()[function]
	if !ok || c.do == nil {
		return Answer{}, refuse(NotImplemented, "%s", function)
	}
	if len(text) != c.texts {
		return Answer{}, refuse(InvalidArg, "%s has %d texts, not %d", function, c.texts, len(text))
	}
	answer, err := c.do(ctx, s, text)
	if _, refused := errors.AsType[*Error](err); err != nil && !refused {
		s.cfg.Log.Warn("call failed", "function", function, "object", text[0], "error", err)
	}
	return answer, err
}

// onSystem returns a function that is about a compute system, by its id.
func onSystem(do func(ctx context.Context, c *computeSystem, text []string) (Answer, error)) doer {
	return func(ctx context.Context, s *Service, text []string) (Answer, error) {
		c, err := s.find(text[0])
		if err != nil {
			return Answer{}, err
		}
		return do(ctx, c, text[1:])
	}
}

// onProcess returns a function that is about a process, by its system's id and its own.
func onProcess(do func(ctx context.Context, p *process, text []string) (Answer, error)) doer {
	return onSystem(func(ctx context.Context, c *computeSystem, text []string) (Answer, error) {
		p, err := c.process(text[0])
		if err != nil {
			return Answer{}, err
		}
		return do(ctx, p, text[1:])
	})
}

// onLayer returns a function that is about a layer, by its folder; the last text may be its parents'.
func onLayer(do func(l *layers, path string, rest []string) (string, error)) doer {
	return func(_ context.Context, s *Service, text []string) (Answer, error) {
		answer, err := do(&s.layers, text[0], text[1:])
		return Answer{Text: answer}, err
	}
}

// pathsOf returns the paths of a text, a line each.
func pathsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

func createSystem(ctx context.Context, s *Service, text []string) (Answer, error) {
	c, err := s.create(ctx, text[0], text[1])
	if err != nil {
		return Answer{}, err
	}
	return handleOf(c), nil //nolint:contextcheck // The handle outlives the call.
}

// openSystem opens a compute system for a program.
func openSystem(_ context.Context, c *computeSystem, _ []string) (Answer, error) {
	return handleOf(c), nil //nolint:contextcheck // The handle outlives the call.
}

// startSystem lets a compute system have processes.
func startSystem(ctx context.Context, c *computeSystem, _ []string) (Answer, error) {
	return Answer{}, c.start(requestOf(ctx))
}

// simply returns a function of a compute system that takes and answers nothing.
func simply(do func(c *computeSystem) error) doer {
	return onSystem(func(_ context.Context, c *computeSystem, _ []string) (Answer, error) { return Answer{}, do(c) })
}

// handleOf opens a compute system.
func handleOf(c *computeSystem) Answer {
	events, leave := c.open()
	return Answer{Events: &Subscription{Events: events.events, Leave: leave}}
}

// handle opens a process.
func (p *process) handle() Answer {
	events := p.events.subscribe()
	return Answer{
		Process: &ProcessInfo{PID: p.pid, Streams: p.streams.set.Carried},
		Events:  &Subscription{Events: events.events, Leave: func() { p.events.leave(events) }},
	}
}

func connectStream(_ context.Context, p *process, text []string) (Answer, error) {
	number, asked := p.streams.number(text[0])
	if !asked {
		return Answer{}, refuse(InvalidArg, "process %d has no stream %q", p.pid, text[0])
	}
	if !p.streams.claim(number) {
		return Answer{}, refuse(InvalidState, "the stream %q of process %d has a connection", text[0], p.pid)
	}
	return Answer{Stream: func(ctx context.Context, conn net.Conn, answer []byte) {
		if err := p.streams.connect(ctx, number, conn, answer); err != nil {
			p.system.service.cfg.Log.Warn("stream not connected", "id", p.system.id, "pid", p.pid, "error", err)
		}
	}}, nil
}

// modification is what HcsModifyComputeSystem is asked for.
type modification struct {
	ResourcePath string
	ResourceType string // in version 1
	RequestType  string
	Settings     json.RawMessage
}

// modifySystem changes the limits of a compute system, or its network.
func modifySystem(ctx context.Context, c *computeSystem, text []string) (Answer, error) {
	var m modification
	if err := parse(text[0], &m); err != nil {
		return Answer{}, err
	}
	if strings.EqualFold(m.ResourceType, "Network") {
		return Answer{}, c.modifyNetwork(ctx, m)
	}

	if m.RequestType != "" && !strings.EqualFold(m.RequestType, "Update") {
		return Answer{}, refuse(NotSupported, "the request %q of %q is not supported", m.RequestType, m.ResourcePath)
	}
	c.mu.Lock()
	defer c.mu.Unlock()

	doc, err := *c.doc.Container, error(nil)
	switch strings.ToLower(m.ResourcePath) {
	case "container/memory/sizeinmb":
		err = parse(string(m.Settings), &doc.Memory.SizeInMB)
	case "container/processor":
		doc.Processor = processor{}
		err = parse(string(m.Settings), &doc.Processor)
	default:
		err = refuse(NotSupported, "the resource %q is not supported", m.ResourcePath+m.ResourceType)
	}
	if err == nil {
		err = doc.check()
	}
	if err == nil && c.made {
		err = c.service.cfg.Engine.Update(ctx, c.engine, doc.resources())
	}
	if err == nil {
		c.doc.Container = &doc
		err = c.keep()
	}

	return Answer{}, err
}
