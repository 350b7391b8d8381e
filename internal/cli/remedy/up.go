package remedy

import (
	"context"
	"errors"
	"fmt"
	"os"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
)

// Up gives an error of a cluster that is coming up, or is to, its remedy and exit code.
func Up(err error, paths layout.Paths) error {
	var conflict *cluster.ConflictError
	switch {
	case errors.As(err, &conflict):
		return &exit.Error{
			Code:   exit.Conflict,
			Err:    err,
			Remedy: conflict.Remedy,
		}

	case errors.Is(err, context.DeadlineExceeded):
		return &exit.Error{
			Code: exit.NotReady,
			Err:  err,
			Remedy: fmt.Sprintf("see `mullion status` and %s; on a slow machine give it more time: `mullion up --wait 20m` goes on with what is there",
				paths.Logs()),
		}

	case errors.Is(err, cluster.ErrTakenDown):
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    err,
			Remedy: "`mullion status` says what is there now, and `mullion up` brings up a new one",
		}

	case errors.Is(err, cluster.ErrNotGrown):
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    err,
			Remedy: fmt.Sprintf("%s may say more; correct what is new, and run `mullion up` again", paths.Logs()),
		}

	case errors.Is(err, cluster.ErrFailed):
		if _, statErr := os.Stat(paths.Logs()); statErr != nil {
			return &exit.Error{
				Code:   exit.NotReady,
				Err:    err,
				Remedy: "the failed cluster is removed again; `mullion up --retain` keeps it and its logs",
			}
		}

		return &exit.Error{
			Code:   exit.NotReady,
			Err:    err,
			Remedy: fmt.Sprintf("see %s, then `mullion down` or `mullion up` again", paths.Logs()),
		}
	}

	return err
}
