package container

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/single"
)

func (a *commands) start() *cobra.Command {
	return &cobra.Command{
		Use:   "start CONTAINER…",
		Short: "Have containers that have ended begin anew, in the background",
		Long: `Has containers that have ended begin anew in the background, with what they were run with: program, variables, folders,
ports, limits. Unlike with Docker their C: is the image's again: what they had written there went with their programs,
which is said; volumes keep files. One that runs is no error. A container whose image was made of a FOLDER for its run
alone cannot begin anew.`,
		Example:           "  mullion container start web",
		Args:              atLeastOne,
		ValidArgsFunction: a.complete(true, single.Exited),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd, args, a.startAgain)
		},
	}
}

// startAgain has a container begin anew, and says what is not as with Docker.
func (a *commands) startAgain(ctx context.Context, client *single.Client, name string) (string, error) {
	before, err := client.Find(ctx, name)
	if err != nil {
		return "", err
	}
	if err := client.StartAgain(ctx, name); err != nil {
		return "", err
	}
	if before.State() == single.Exited {
		fmt.Fprintf(a.Env.Err, "mullion: %s has the C: of its image again: what it had written there went with its program\n",
			before.Name)
	}
	return name, nil
}

func (a *commands) restart() *cobra.Command {
	var seconds int
	cmd := &cobra.Command{
		Use:   "restart [flags] CONTAINER…",
		Short: "Stop containers, and have them begin anew",
		Long: `Ends containers as ` + "`mullion container stop`" + ` does, and has them begin anew as ` + "`mullion container start`" + ` does: with
the C: of their image.`,
		Example:           "  mullion container restart -t 30 web",
		Args:              atLeastOne,
		ValidArgsFunction: a.complete(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			timeout := timeoutOf(cmd, seconds)
			return a.each(cmd, args, func(ctx context.Context, client *single.Client, name string) (string, error) {
				if err := client.Stop(ctx, name, timeout); err != nil {
					return "", err
				}
				return a.startAgain(ctx, client, name)
			})
		},
	}
	addTimeout(cmd, &seconds)

	return cmd
}

// addTimeout adds the flag of the time that programs have to end.
func addTimeout(cmd *cobra.Command, seconds *int) {
	cmd.Flags().IntVarP(seconds, "timeout", "t", 0,
		"seconds before it is killed, -1 for never (default: the --stop-timeout it was run with)")
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "time" { // its name in Docker before version 28
			name = "timeout"
		}
		return pflag.NormalizedName(name)
	})
}

// timeoutOf returns the value of that flag, nil if it was not given.
func timeoutOf(cmd *cobra.Command, seconds int) *time.Duration {
	if !cmd.Flags().Changed("timeout") {
		return nil
	}
	given := time.Duration(seconds) * time.Second
	return &given
}

func (a *commands) rename() *cobra.Command {
	return &cobra.Command{
		Use:               "rename CONTAINER NAME",
		Short:             "Give a container another name",
		Long:              `Gives a container another name, by which other containers find it from then on; one that runs goes on.`,
		Example:           "  mullion container rename web web-old",
		Args:              cmdline.Exactly("CONTAINER", "NAME"),
		ValidArgsFunction: a.complete(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := a.client(cmd)
			if err != nil {
				return err
			}
			return engine.Refused(client.Rename(cmd.Context(), args[0], args[1]))
		},
	}
}
