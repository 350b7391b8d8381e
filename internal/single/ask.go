package single

import (
	"context"
	"os"
	"slices"
	"time"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/runtime/cri/store"
)

// What a client asks of containers that are there. An error that says what Docker would is a *Refusal.

// Start runs a container that lives on without this client, and returns its id when its program runs.
func (c *Client) Start(ctx context.Context, ask Run) (id string, err error) {
	ask.Detach = true
	e, err := c.answer(ctx, Request{Run: &ask})
	return e.Started, err
}

// StartAgain has a container that has ended begin anew, and returns when its program runs.
func (c *Client) StartAgain(ctx context.Context, name string) error {
	_, err := c.about(ctx, name, Request{Start: name})
	return err
}

// Rename gives a container another name.
func (c *Client) Rename(ctx context.Context, name, to string) error {
	_, err := c.about(ctx, name, Request{Rename: &Renaming{Container: name, Name: to}})
	return err
}

// ExecDetached runs a program in a container that runs, and returns when it has started. It lives on without this
// client, and nobody has what it says.
func (c *Client) ExecDetached(ctx context.Context, ask Exec) error {
	ask.Detach = true
	_, err := c.about(ctx, ask.Container, Request{Exec: &ask})
	return err
}

// Samples returns what containers use: those named, or all that run.
func (c *Client) Samples(ctx context.Context, names ...string) ([]Sample, error) {
	if c.hasNone(ctx) {
		if len(names) > 0 {
			return nil, refuse("No such container: %s", names[0])
		}
		return nil, nil
	}
	e, err := c.answer(ctx, Request{Sample: &Sampling{Containers: names}})
	return e.Samples, err
}

// List returns all containers, the newest first. Where there has been none, no engine is started to say so.
func (c *Client) List(ctx context.Context) ([]Container, error) {
	if c.hasNone(ctx) {
		return nil, nil
	}
	e, err := c.answer(ctx, Request{List: true})
	return e.Containers, err
}

// Find returns the container that is meant.
func (c *Client) Find(ctx context.Context, name string) (Container, error) {
	all, err := c.List(ctx)
	if err != nil {
		return Container{}, err
	}
	return Find(all, name)
}

// Wait returns how a container has ended, when it has.
func (c *Client) Wait(ctx context.Context, name string) (End, error) {
	e, err := c.about(ctx, name, Request{Wait: name})
	if err != nil || e.Ended == nil {
		return End{}, err
	}
	return *e.Ended, nil
}

// Stop ends a container, within its own time unless another one is given; below 0 it may take as long as it likes.
func (c *Client) Stop(ctx context.Context, name string, timeout *time.Duration) error {
	_, err := c.about(ctx, name, Request{Stop: &Ending{Container: name, Timeout: timeout}})
	return err
}

// Tell sends a signal to a container's program.
func (c *Client) Tell(ctx context.Context, name string, signal Signal) error {
	_, err := c.about(ctx, name, Request{Tell: &Telling{Container: name, Signal: signal}})
	return err
}

// Delete removes a container.
func (c *Client) Delete(ctx context.Context, ask Removal) error {
	_, err := c.about(ctx, ask.Container, Request{Remove: &ask})
	return err
}

// Prune removes the containers that have ended and fit. It returns them, and how many bytes that has freed.
func (c *Client) Prune(ctx context.Context, which Pruned) ([]Container, int64, error) {
	if c.hasNone(ctx) {
		return nil, 0, nil
	}
	// An engine of an earlier version knows all of them alone, and refuses the other word.
	ask := Request{Prune: which.all()}
	if !which.all() {
		ask.PruneThose = &which
	}
	e, err := c.answer(ctx, ask)
	return e.Containers, e.Freed, err
}

// about asks for something that is about a container.
func (c *Client) about(ctx context.Context, name string, r Request) (Event, error) {
	if name == "" || c.hasNone(ctx) {
		return Event{}, refuse("No such container: %s", name)
	}
	return c.answer(ctx, r)
}

// hasNone reports whether there is no container, and no engine that could have one.
func (c *Client) hasNone(ctx context.Context) bool {
	if to, err := unixsocket.Dialer(c.Paths.Engine())(ctx, "", ""); err == nil {
		_ = to.Close()
		return false
	}
	entries, err := os.ReadDir(c.Paths.records())
	return err != nil || len(entries) == 0
}

// Names returns the names of containers whose state is among those given, of all without one. It reads what is on disk,
// and is for the completion of a shell.
func (c *Client) Names(states ...string) []string {
	all, err := store.Peek[Container](c.Paths.records())
	if err != nil {
		return nil
	}
	var names []string
	for _, k := range all {
		if len(states) == 0 || slices.Contains(states, k.State()) {
			names = append(names, k.Name)
		}
	}
	return names
}
