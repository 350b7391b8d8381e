package engine

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/invoke"
)

// Remove removes the engine of single containers with all that it has, but for volumes with a name unless they are
// meant too. quiet: it is not said that there was none, or what stays.
func Remove(call *invoke.Call, cmd *cobra.Command, volumes, quiet bool) error {
	if err := call.OfNoCluster().RequireRoot("ends single containers and removes what they made"); err != nil {
		return err
	}
	client, err := Client(call, cmd)
	if err != nil {
		return err
	}

	removed, err := client.Remove(cmd.Context(), volumes)
	switch {
	case err != nil || quiet:
		return err
	case !removed.Found:
		fmt.Fprintf(call.Env.Err, "mullion: there are no single containers in %s\n", client.Paths.Data)
	case len(removed.Kept) > 0:
		fmt.Fprintf(call.Env.Err, "mullion: volumes with a name are kept in %s: %s; `mullion down --run --volumes` removes them\n",
			client.Paths.Data, strings.Join(removed.Kept, ", "))
	}
	return nil
}
