package container

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/dockerout"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/single"
)

func (a *commands) logs() *cobra.Command {
	var tail, since, until string
	var o single.LogOptions
	cmd := &cobra.Command{
		Use:   "logs [flags] CONTAINER",
		Short: "Print what a container's program has said",
		Long: `Prints what a container's program has said, on standard output and standard error as it did. The last 20 to 30 MB
are kept. A line is there when it has ended.`,
		Example: `  mullion container logs web
  mullion container logs -f --tail 20 web
  mullion container logs --since 10m -t web`,
		Args:              cmdline.Exactly("CONTAINER"),
		ValidArgsFunction: a.complete(false),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Tail, err = tailOf(tail); err != nil {
				return err
			}
			now := time.Now()
			if o.Since, err = dockerout.Time("--since", since, now); err != nil {
				return err
			}

			if o.Until, err = dockerout.Time("--until", until, now); err != nil {
				return err
			}

			client, err := a.client(cmd)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			c, err := client.Find(ctx, args[0])
			if err != nil {
				return engine.Refused(err)
			}

			err = client.Logs(ctx, c, o, a.Env.Out, a.Env.Err)
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the person has seen enough
			}
			return engine.Refused(err)
		},
	}

	f := cmd.Flags()
	f.BoolVarP(&o.Follow, "follow", "f", false, "go on until the container has ended")
	f.StringVarP(&tail, "tail", "n", "all", "how many of the last lines")
	f.StringVar(&since, "since", "", "what is not older: 10m, 2026-01-31T12:00:00Z, or seconds since 1970")
	f.StringVar(&until, "until", "", "what is not newer, in the same forms")
	f.BoolVarP(&o.Timestamps, "timestamps", "t", false, "put before each line when it came")

	return cmd
}

// tailOf reads a number of lines; all of them are -1.
func tailOf(text string) (int, error) {
	if text == "all" {
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, exit.Misuse(fmt.Errorf("--tail %q is neither a number nor all", text), "for example: --tail 20")
	}
	return max(n, -1), nil
}
