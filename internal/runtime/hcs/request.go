package hcs

import (
	"context"
	"slices"
)

// A program sends a request again, with the same name, when the service has ended before the answer came. What it makes
// is not made twice: its name is in the record of what was made.

// mostDone is how many names a compute system keeps of requests that are done.
const mostDone = 16

type requestName struct{}

// WithRequest returns a context for a call with the name of its request; "": it is never sent again.
func WithRequest(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, requestName{}, name)
}

func requestOf(ctx context.Context) string {
	name, _ := ctx.Value(requestName{}).(string)
	return name
}

// did notes that a request is done, in the record that is written next; c.mu is held.
func (c *computeSystem) did(request string) {
	if request == "" {
		return
	}
	c.done = append(c.done, request)
	c.done = c.done[max(len(c.done)-mostDone, 0):]
}

// hasDone reports whether a request is done; c.mu is held.
func (c *computeSystem) hasDone(request string) bool {
	return request != "" && slices.Contains(c.done, request)
}

// madeBy returns the process that a request has started; nil: it has started none.
func (c *computeSystem) madeBy(request string) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.processes {
		if request != "" && p.request == request && p != c.starting {
			return p
		}
	}
	return nil
}

// madeBy returns the compute system that a request has made; nil: it has made none of that id.
func (s *Service) madeBy(request, id string) *computeSystem {
	c, err := s.find(id)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hasDone(request) {
		return c
	}
	return nil
}
