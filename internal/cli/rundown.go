package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// removeSingle removes the engine of single containers with all that it has.
func (a *app) removeSingle(cmd *cobra.Command, out outputFlags) error {
	if err := a.requireRoot("ends single containers and removes what they made"); err != nil {
		return err
	}
	client, err := a.singleClient(cmd)
	if err != nil {
		return err
	}
	found, err := client.Remove(cmd.Context())
	if err != nil {
		return err
	}
	if !found && !out.quiet {
		fmt.Fprintf(a.env.Err, "mullion: there are no single containers in %s\n", client.Paths.Data)
	}
	return nil
}
