package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/winserver"
)

func (e Env) status() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say how the node is: its services, and whether the cluster calls it Ready",
		Long: `Says how the node is that the agent made of this server. The exit code is 5 if it is not Ready or a service does not run,
and 6 if the server is no node of the agent's.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(form); err != nil {
				return err
			}
			host, err := e.Host()
			if err != nil {
				return err
			}

			s, err := host.Status(cmd.Context())
			if err != nil {
				return err
			}

			if form == "json" {
				err = e.printJSON(s)
			} else {
				e.printStatus(s)
			}
			if err != nil {
				return err
			}

			for _, one := range s.Services {
				if one.State != "running" {
					return fmt.Errorf("service %s is %s: %w", one.Name, one.State, winserver.ErrNotReady)
				}
			}

			if !s.Ready {
				return fmt.Errorf("node %s is not Ready: %w", s.Node, winserver.ErrNotReady)
			}
			return nil
		},
	}
	output(cmd, &form)

	return cmd
}

func (e Env) printStatus(s winserver.Status) {
	fmt.Fprintf(e.Out, "node        %s\nAPI server  %s\n", s.Node, s.Server)
	for _, one := range s.Services {
		fmt.Fprintf(e.Out, "service     %s %s\n", one.Name, one.State)
	}
	if s.Network != "" {
		fmt.Fprintf(e.Out, "network     %s\n", s.Network)
	}
	switch {
	case s.Ready:
		fmt.Fprintf(e.Out, "Ready       yes, kubelet %s\n", s.Kubelet)
	default:
		fmt.Fprintf(e.Out, "Ready       no: %s\n", s.Reason)
	}
}

func (e Env) upgrade() *cobra.Command {
	var bundles []string
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "upgrade --bundle DIR|ARCHIVE",
		Short: "Replace the node's programs by those of another bundle",
		Long: `Replaces the programs of containerd, kubelet and kube-proxy and the CNI plugins by those of other bundles, one service after
the other; programs that no bundle has stay. A service that does not work with its new programs gets the former ones
back, and the command ends with exit code 5. Drain the node first, and keep the kubelet no newer than the API server:
https://kubernetes.io/releases/version-skew-policy/#kubelet`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(bundles) == 0 {
				return usageError{errors.New("--bundle is missing: it has the new programs")}
			}
			host, err := e.Host()
			if err != nil {
				return err
			}
			return host.Upgrade(cmd.Context(), bundles, wait, e.say())
		},
	}
	cmd.Flags().StringSliceVar(&bundles, "bundle", nil, "folder, .zip or .tar.gz with programs; may be repeated")
	cmd.Flags().DurationVar(&wait, "wait", 2*time.Minute, "how long a service may take until it answers")

	return cmd
}

func (e Env) leave() *cobra.Command {
	var deleteNode bool
	cmd := &cobra.Command{
		Use:   "leave",
		Short: "Take this server out of the cluster, and remove everything that the agent has put on it",
		Long: `Stops the services, removes the pods, and takes back what the journal has: services, the HNS network, the firewall's rule,
programs, configuration, certificates. Files that were there before the join stay, or come back.

To move the node's pods first, and to delete the Node, an administrator runs, before and after:

  kubectl drain NODE --ignore-daemonsets --delete-emptydir-data
  kubectl delete node NODE

With --delete-node the node deletes its Node itself. Mullion's clusters allow that, and kubeadm's do not.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			host, err := e.Host()
			if err != nil {
				return err
			}
			_, advice, err := host.Node()
			if err != nil {
				return err
			}

			if err := host.Leave(cmd.Context(), deleteNode, e.say()); err != nil {
				return err
			}
			if !deleteNode {
				fmt.Fprintln(e.Out, "The Node is still in the cluster. An administrator removes it:")
				for _, line := range advice[1:] {
					fmt.Fprintln(e.Out, "  "+line)
				}
			}

			return nil
		},
	}
	cmd.Flags().BoolVar(&deleteNode, "delete-node", false, "delete the Node too, with the node's own rights")

	return cmd
}
