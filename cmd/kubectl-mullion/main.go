// Command kubectl-mullion is the plugin `kubectl mullion check`: just the manifest checker, without Mullion's clusters.
// Its exit codes are those of mullion.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/check/command"
)

// The exit codes of a check that did not run, as in internal/cli. A check that ran has the exit codes of package
// command.
const (
	exitInternal = 1
	exitUsage    = 2
)

func main() {
	ctx, stop := interrupt.Notify(context.Background(), end)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// end ends the process at a signal, whatever it waits for.
func end(s os.Signal) {
	fmt.Fprintln(os.Stderr, "kubectl mullion: ended by a signal:", s)
	os.Exit(interrupt.Code(s))
}

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	var (
		result command.Outcome
		ran    bool
	)

	root := &cobra.Command{
		Use:           "kubectl-mullion",
		Short:         "Check manifests for Windows nodes",
		SilenceUsage:  true,
		SilenceErrors: true,
	}

	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl mullion"}
	program := command.Program{
		In:      in,
		Out:     out,
		Version: version.Mullion(),
		End: func(got command.Outcome, err error) error {
			ran, result = true, got
			return err
		},
	}
	root.AddCommand(command.New(program)) //nolint:contextcheck // cobra hands the context to each command
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	var wrong *command.UsageError
	switch {
	case err != nil && (!ran || errors.As(err, &wrong)):
		fmt.Fprintf(errOut, "kubectl mullion: %v\n→ see `kubectl mullion check --help`\n", err)
		return exitUsage
	case err != nil:
		fmt.Fprintf(errOut, "kubectl mullion: check manifests: %v\n", err)
		return exitInternal
	case result.Code() != 0:
		fmt.Fprintf(errOut, "kubectl mullion: %s\n", result.Message())
	}

	return result.Code()
}
