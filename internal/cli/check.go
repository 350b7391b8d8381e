package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/check/command"
)

func (a *app) check() *cobra.Command {
	cmd := command.New(command.Program{
		In: a.env.In, Out: a.env.Out, Version: version.Mullion(), End: endCheck,
		Kubectl: func() []string {
			self, err := os.Executable()
			if err != nil {
				return nil
			}
			return []string{self, "kubectl", "--kubeconfig="} // the user's own configuration, by the kubectl that is linked in
		},
	})
	for _, sub := range cmd.Commands() {
		sub.Args = noArgs
	}
	return cmd
}

// endCheck gives what a check found its exit code.
func endCheck(got command.Outcome, err error) error {
	var wrong *command.UsageError
	switch {
	case errors.As(err, &wrong):
		return usage(err, "see `mullion check --help`")
	case err != nil:
		return err
	case got.Unreadable:
		return &Error{Code: ExitUnreadable, Err: errors.New("check manifests: some of the input, or of the images that it names, was not read"), Remedy: "what could be read was checked; the places are listed above"}
	case got.Findings:
		return &Error{Code: ExitFindings, Err: fmt.Errorf("check manifests: there are findings of severity %s or worse", got.FailOn), Remedy: "`mullion check --explain RULE` says more of a rule"}
	}
	return nil
}
