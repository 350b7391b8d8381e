package container

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/single"
)

// execOptions are the flags of `mullion container exec`.
type execOptions struct {
	env, envFiles         []string
	dir, user             string
	interactive, terminal bool
	detach                bool
}

func (a *commands) exec() *cobra.Command {
	var o execOptions
	cmd := &cobra.Command{
		Use:   "exec [flags] CONTAINER PROGRAM [ARGUMENT…]",
		Short: "Run another program in a container, and end with its exit code",
		Long: `Runs a program in a container that runs, as its user, with its environment and in its folder unless others are
given. The program ends with this command; Ctrl-C kills it, but with -it, where every key is its own. With -d it lives
on until it or its container ends, and nobody hears what it says.

The exit code is the program's, as with ` + "`mullion run`" + `; 126: it cannot be started; 127: it is not there; 1: there
is no such container, or it does not run.`,
		Example: `  mullion container exec -it web cmd
  mullion container exec -e LOG=debug -w C:\app web powershell -File C:\app\check.ps1`,
		ValidArgsFunction: a.complete(false, single.Running),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 || args[1] == "" {
				return exit.Misuse(errors.New("`mullion container exec` takes CONTAINER and PROGRAM"),
					"for example: mullion container exec -it web cmd")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.execIn(cmd, args, o) },
	}

	f := cmd.Flags()
	f.SetInterspersed(false)
	f.BoolVarP(&o.detach, "detach", "d", false, "leave the program running")
	f.BoolVarP(&o.interactive, "interactive", "i", false, "pass on standard input")
	f.BoolVarP(&o.terminal, "tty", "t", false, "give the program a console, which is this terminal")
	f.StringArrayVarP(&o.env, "env", "e", nil, "NAME=VALUE, or NAME for the value that it has here")
	f.StringArrayVar(&o.envFiles, "env-file", nil, "file with lines of that form")
	f.StringVarP(&o.dir, "workdir", "w", "", `folder that the program starts in (default: the container's)`)
	f.StringVarP(&o.user, "user", "u", "", "the user, which is the container's: under Wine it has no other")

	return cmd
}

// execIn runs a program in a container.
func (a *commands) execIn(cmd *cobra.Command, args []string, o execOptions) error {
	ask := single.Exec{
		Container: args[0],
		Args:      args[1:],
		Dir:       o.dir,
		User:      o.user,
		Terminal:  o.terminal,
		Stdin:     o.interactive,
	}

	if o.detach && (o.interactive || o.terminal) {
		return exit.Misuse(errors.New("-i and -t are for somebody who is there, and -d leaves"), "leave one of them out")
	}
	var err error
	if ask.Env, err = engine.Variables(a.Env, o.env, o.envFiles); err != nil {
		return err
	}

	client, err := a.client(cmd)
	if err != nil {
		return err
	}
	if o.detach {
		return engine.Refused(client.ExecDetached(cmd.Context(), ask))
	}

	streams := engine.Console{Terminal: o.terminal, Stdin: o.interactive}
	if err := streams.Check(a.Env); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer stop()

	end, err := streams.Attach(ctx, cmd.Context(), a.Env,
		func(ctx context.Context, streams single.Streams, columns, rows uint16) (single.End, error) {
			ask.Columns, ask.Rows = columns, rows
			return client.Exec(ctx, ask, streams)
		})
	if err != nil {
		return engine.Refused(err)
	}

	return engine.Ended(a.Env, end)
}
