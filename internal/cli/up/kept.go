package up

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

// keptSpec returns the specification of the cluster that is in the data folder, if there is one. With --server, the
// cluster must be one that other machines can join. Who is not root asks the cluster itself; where it does not answer,
// it is said that a cluster may be there.
func (a *Commands) keptSpec(ctx context.Context, paths layout.Paths, f upFlags) (
	c spec.Cluster, there bool, err error,
) {
	c, err = paths.LoadSpec()
	if errors.Is(err, fs.ErrPermission) && f.dryRun {
		if _, c, err = a.Described(ctx); err != nil {
			fmt.Fprintf(a.Env.Err, "warning: only root may see whether a cluster is in %s: this is the plan of a new one; "+
				"`%s` looks\n", paths.Data, a.WithSudo())
			return c, false, nil //nolint:nilerr // it was said
		}
	}

	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return c, false, nil
	case err == nil && f.server:
		err = errors.Join(remedy.NoControlPlane(c), remedy.NotJoinable(c))
	}

	return c, true, err
}
