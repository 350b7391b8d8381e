package cli

import (
	"context"
	"fmt"

	"mullion.dev/mullion/internal/cluster/hold"
	"mullion.dev/mullion/internal/cluster/layout"
)

// hold takes the cluster's lock for the rest of a command, which changes the cluster in several steps.
func (a *app) hold(ctx context.Context, paths layout.Paths) (context.Context, *hold.Held, error) {
	ctx, held, err := a.calls.hold(ctx, paths)
	return ctx, held, a.upError(err, paths)
}

// as returns a context in which the cluster's lock is taken in the name of a command, and a person is told for whom the
// command waits.
func (a *app) as(ctx context.Context, command string) context.Context {
	return hold.As(ctx, hold.Caller{
		Command: command,
		Waiting: func(other hold.Holder) {
			fmt.Fprintf(a.env.Err, "mullion: waiting for %s, which is changing the cluster\n", other)
		},
	})
}
