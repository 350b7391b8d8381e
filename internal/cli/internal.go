package cli

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/controlplane/programs"
	linuxprograms "mullion.dev/mullion/internal/node/linuxnode/programs"
)

// supervise is the command of the supervisor, the process that `up` leaves behind.
func (a *app) supervise() *cobra.Command {
	var limit time.Duration
	cmd := &cobra.Command{
		Use:    "supervise",
		Short:  "Run the supervisor of the data folder's cluster in the foreground",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.requireRoot("mullion supervise"); err != nil {
				return err
			}
			paths, err := a.paths()
			if err != nil {
				return err
			}
			log := slog.New(slog.NewTextHandler(a.env.Err, nil))
			return cluster.Supervise(cmd.Context(), cluster.SuperviseOptions{
				Paths:      paths,
				Executable: a.env.Executable,
				Log:        log,
				StartLimit: limit,
			})
		},
	}
	cmd.Flags().DurationVar(&limit, "start-limit", 5*time.Minute, "how long each part may take to start")
	return cmd
}

// component is the command with which the supervisor starts one part of the control plane or of a Linux node in a
// process of its own.
func (a *app) component() *cobra.Command {
	return &cobra.Command{
		Use:                "component NAME [flags of that program]",
		Short:              "Run etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubelet or kube-proxy in this process",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("`mullion component` takes NAME, got none"),
					"the supervisor starts it; people do not")
			}
			if slices.Contains(linuxprograms.Names(), args[0]) {
				return linuxprograms.Run(cmd.Context(), args[0], args[1:])
			}
			return programs.Run(cmd.Context(), args[0], args[1:])
		},
	}
}
