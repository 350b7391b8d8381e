package invoke

import (
	"context"
	"fmt"

	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/hold"
	"mullion.dev/mullion/internal/cluster/layout"
)

// Lock takes the cluster's lock; the context is one in which it is held.
type Lock func(context.Context, layout.Paths) (context.Context, *hold.Held, error)

// Hold takes the cluster's lock for the rest of a command, which changes the cluster in several steps.
func (c *Call) Hold(ctx context.Context, paths layout.Paths) (context.Context, *hold.Held, error) {
	lock := c.Lock
	if lock == nil {
		lock = cluster.Hold
	}
	ctx, held, err := lock(ctx, paths)
	return ctx, held, remedy.Up(err, paths)
}

// As returns a context in which the cluster's lock is taken in the name of a command, and a person is told for whom the
// command waits.
func (c *Call) As(ctx context.Context, command string) context.Context {
	return hold.As(ctx, hold.Caller{
		Command: command,
		Waiting: func(other hold.Holder) {
			fmt.Fprintf(c.Env.Err, "mullion: waiting for %s, which is changing the cluster\n", other)
		},
	})
}
