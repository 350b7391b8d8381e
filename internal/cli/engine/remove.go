package engine

import (
	"fmt"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/invoke"
)

// Remove removes the engine of single containers with all that it has. quiet: it is not said that there was none.
func Remove(call *invoke.Call, cmd *cobra.Command, quiet bool) error {
	if err := call.OfNoCluster().RequireRoot("ends single containers and removes what they made"); err != nil {
		return err
	}
	client, err := Client(call, cmd)
	if err != nil {
		return err
	}

	found, err := client.Remove(cmd.Context())
	if err != nil {
		return err
	}
	if !found && !quiet {
		fmt.Fprintf(call.Env.Err, "mullion: there are no single containers in %s\n", client.Paths.Data)
	}
	return nil
}
