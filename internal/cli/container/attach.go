package container

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/single"
)

// looking are the commands that look at a container that runs.
type looking struct{ *commands }

func (a looking) attach() *cobra.Command {
	var proxy bool
	cmd := &cobra.Command{
		Use:   "attach [flags] CONTAINER",
		Short: "Hear what a container's program says from now on, and end as it does",
		Long: `Prints what the program of a container that runs says from now on, and ends with its exit code. Ctrl-C is passed on to
it as CTRL_C_EVENT, with --sig-proxy=false it ends this command alone. Unlike with Docker nothing is passed to the
program's input; ` + "`mullion container exec -it CONTAINER cmd`" + ` runs another program there.`,
		Example:           "  mullion container attach web",
		Args:              cmdline.Exactly("CONTAINER"),
		ValidArgsFunction: a.complete(false, single.Running),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.attachTo(cmd, args[0], proxy) },
	}
	cmd.Flags().BoolVar(&proxy, "sig-proxy", true, "pass on Ctrl-C to the program")

	return cmd
}

// attachTo prints what a program says until it has ended.
func (a looking) attachTo(cmd *cobra.Command, name string, proxy bool) error {
	client, err := a.client(cmd)
	if err != nil {
		return err
	}
	outer := cmd.Context()
	c, err := client.Find(outer, name)
	if err != nil {
		return engine.Refused(err)
	}

	if c.State() != single.Running {
		return &exit.Error{
			Code:   exit.Internal,
			Err:    errors.New("You cannot attach to a stopped container, start it first"), //nolint:staticcheck // Docker's words
			Remedy: "`mullion container logs " + c.Name + "` prints what it has said",
		}
	}

	ctx := outer
	if proxy {
		defer interrupt.Finishing(outer)() // the program ends, and this command after it
		var stop func()
		ctx, stop = context.WithCancel(context.WithoutCancel(outer))
		defer stop()
		defer context.AfterFunc(outer, func() { _ = client.Tell(ctx, c.ID, single.Interrupt) })()
	}

	end, err := client.Attach(ctx, c, a.Env.Out, a.Env.Err)
	if err != nil {
		return engine.Refused(err)
	}
	return engine.Ended(a.Env, end)
}

func (a looking) top() *cobra.Command {
	return &cobra.Command{
		Use:   "top CONTAINER [OPTION…]",
		Short: "List the processes of a container that runs",
		Long: `Lists the Windows processes of a container, as its own tasklist.exe does, which is one of them; OPTION is one of
tasklist's.`,
		Example: `  mullion container top web
  mullion container top web /v /fo csv`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Misuse(errors.New("`mullion container top` takes CONTAINER"), "`mullion container ls` lists them")
			}
			return nil
		},
		ValidArgsFunction: a.complete(false, single.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := a.client(cmd)
			if err != nil {
				return err
			}
			c, err := client.Find(cmd.Context(), args[0]) // where there is none, no engine is started to say so
			if err != nil {
				return engine.Refused(err)
			}

			ask := single.Exec{Container: c.ID, Args: append([]string{"tasklist"}, args[1:]...)}
			end, err := client.Exec(cmd.Context(), ask, single.Streams{Out: a.Env.Out, Err: a.Env.Err})
			if err != nil {
				return engine.Refused(err)
			}

			return engine.Ended(a.Env, end)
		},
	}
}

// refused are commands of `docker container` that Windows containers, or single ones, do not have.
func refused() (all []*cobra.Command) {
	const gone = "what a container has written to its C: goes with its program"
	for _, one := range []struct{ name, why, remedy string }{
		{"commit", gone, "a Dockerfile makes the same: `mullion image build`, with a RUN for what was done by hand"},
		{"create", "a container begins when it is made", "`mullion run -d` makes one and starts it"},
		{"diff", gone, "`mullion container cp` copies what is there while the program runs"},
		{
			"export", "the daemon on this operating system does not support exporting Windows containers, Docker says",
			"`mullion image save` writes an image, `mullion container cp` copies files",
		},
		{
			"pause", "containers of Windows with process isolation cannot be paused, with Docker neither",
			"`mullion container stop` ends one",
		},
		{"unpause", "containers of Windows with process isolation cannot be paused, with Docker neither", ""},
		{"update", "Docker has no update for Windows containers", "run it again with other limits: `mullion run`"},
	} {
		all = append(all, &cobra.Command{
			Use:                one.name,
			Hidden:             true,
			DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return exit.Misuse(fmt.Errorf("`mullion container %s`: %s", one.name, one.why), one.remedy)
			},
		})
	}

	return all
}
