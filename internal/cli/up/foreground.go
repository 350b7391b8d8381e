package up

import (
	"context"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/progress"
	"mullion.dev/mullion/internal/cluster/layout"
)

// stay keeps `mullion up --foreground` where it is until Ctrl-C or SIGTERM, and stops the cluster then.
func (a *Commands) stay(ctx context.Context, paths layout.Paths, r *progress.Progress) error {
	r.Say("Ctrl-C or SIGTERM stops the cluster and keeps its state, as `mullion stop` does.")
	if err := a.calls.Await(ctx, paths); err != nil {
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    err,
			Remedy: "`mullion up` again picks up what is there; `mullion logs supervisor` may say why it ended",
		}
	}
	defer interrupt.Finishing(ctx)()                             // the cluster stops, which takes its time
	return a.calls.Stop(context.WithoutCancel(ctx), paths, r.OK) // ctx is over, which is why
}
