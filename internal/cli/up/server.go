package up

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cluster/join"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
)

// Server returns `mullion server`.
func (a *Commands) Server() *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "server --advertise-address ADDRESS",
		Short: "Bring up a control plane that other machines join with nodes",
		Long: `Brings up a cluster without nodes (or with those of cluster.yaml) whose API server answers at an address of this machine,
and prints the command with which other machines join it. In all else it is like ` + "`mullion up`" + `: it is safe to
repeat, and ` + "`mullion up`" + ` brings the cluster back too.

TCP and UDP port 6443 (networking.apiServerPort) have to be open between the machines. TCP carries the API. UDP
carries the packets between nodes and pods of different machines; these are neither encrypted nor authenticated,
so use a network that you trust, or a VPN.`,
		Example: "  mullion server --advertise-address 192.0.2.10\n  mullion server -f cluster.yaml    # with networking.advertiseAddress\n" +
			"  mullion server --external-nodes 192.0.2.77    # a Windows Server is to join the cluster that is up",
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runServer(cmd.Context(), f) },
	}

	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "cluster.yaml (- for standard input)")
	flags.StringVar(&f.advertise, "advertise-address", "",
		"IPv4 address at which other machines reach this one; the API server answers there and nowhere else")
	flags.StringSliceVar(&f.external, "external-nodes", nil,
		"IPv4 addresses, or networks, of nodes that Mullion does not run: Windows Servers that mullion-agent.exe joins; on a cluster that is up, all of them from now on")
	f.addTo(cmd)

	return cmd
}

func (a *Commands) runServer(ctx context.Context, f upFlags) error {
	f.server = true
	if err := a.runUp(ctx, f); err != nil || f.dryRun {
		return err
	}
	paths, err := a.Paths()
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	client, c, err := a.Admin(paths)
	if err != nil {
		return err
	}

	t, err := bootstrap.NewToken(ctx, client, bootstrap.DefaultTokenLife, "made by mullion server")
	if err != nil {
		return err
	}

	line, err := join.CommandLine(paths, c, t)
	if err != nil {
		return err
	}
	fmt.Fprintf(
		a.Env.Out, "\nOn another machine, as root, within %s:\n\n  %s\n\nLater: mullion token create --print-join-command\n", bootstrap.DefaultTokenLife, line)
	return nil
}
