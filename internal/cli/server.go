package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/spec"
)

func (a *app) server() *cobra.Command {
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
	a.upOptions(cmd, &f)
	return cmd
}

func (a *app) runServer(ctx context.Context, f upFlags) error {
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

	line, err := joinCommand(paths, c, t)
	if err != nil {
		return err
	}
	fmt.Fprintf(
		a.Env.Out, "\nOn another machine, as root, within %s:\n\n  %s\n\nLater: mullion token create --print-join-command\n", bootstrap.DefaultTokenLife, line)
	return nil
}

// joinCommand returns the command line with which another machine joins.
func joinCommand(paths layout.Paths, c spec.Cluster, t bootstrap.Token) (string, error) {
	hash, err := authorityHash(paths)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("mullion join --server %s:%d --token %s --ca-cert-hash %s", c.Networking.AdvertiseAddress,
		c.Networking.APIServerPort, t, hash), nil
}

// authorityHash returns the hash of the cluster's certificate authority.
func authorityHash(paths layout.Paths) (string, error) {
	bundle, err := pki.Open(filepath.Join(paths.Data, "pki"))
	if err != nil {
		return "", err
	}
	return bundle.CAHash()
}

func (a *app) token() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and delete the tokens with which machines join",
		Long: `A bootstrap token has kubeadm's form: an ID of six characters, which is no secret, a dot, and a secret of sixteen
characters. The control plane removes a token when it expires; nodes that joined with it stay.`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tokenCreate(), a.tokenList(), a.tokenDelete())
	return cmd
}

// requireJoinable returns an error if the cluster has no advertised address, so that other machines cannot join it.
func requireJoinable(c spec.Cluster) error {
	if c.SeveralMachines() {
		return nil
	}
	return &exit.Error{
		Code:   exit.Conflict,
		Err:    errors.New("other machines cannot join this cluster: it has no advertised address"),
		Remedy: "bring a cluster up with `mullion server --advertise-address ADDRESS`, or with networking.advertiseAddress in cluster.yaml",
	}
}
