package cli

import (
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/diagnose"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster"
)

// supervise returns the command of the supervisor, the process that `up` leaves behind.
func supervise(r *reader.Reader) *cobra.Command {
	var limit time.Duration
	var held uint

	cmd := &cobra.Command{
		Use:    "supervise",
		Short:  "Run the supervisor of the data folder's cluster in the foreground",
		Hidden: true,
		Args:   cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.RequireRoot("runs the cluster's processes"); err != nil {
				return err
			}
			paths, err := r.Folder() // also Docker's engine has a supervisor
			if err != nil {
				return err
			}

			interrupt.Serving(cmd.Context())
			usual, err := logging.Load(paths.LogLevel())
			level := logging.NewDial(usual)
			log := logging.New(r.Env.Err, level)
			if err != nil {
				log.Warn("log at the usual level", "error", err)
			}

			return cluster.Supervise(cmd.Context(), cluster.SuperviseOptions{
				Paths:      paths,
				Log:        log,
				Level:      level,
				StartLimit: limit,
				Questions:  diagnose.Questions(),
				Held:       held,
			})
		},
	}

	cmd.Flags().UintVar(&held, "held", 0, "descriptor by which the starter hands the cluster over")
	cmd.Flags().DurationVar(&limit, "start-limit", 5*time.Minute, "how long each part may take to start")
	return cmd
}
