// Package check owns `mullion check` as one of mullion's commands. The checker itself is elsewhere, and stands alone.
package check

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/check/command"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
)

// New returns the command; kubectl finds the program by which a cluster is asked.
func New(env invoke.Env, kubectl func() (string, error)) *cobra.Command {
	cmd := command.New(command.Program{
		In:      env.In,
		Out:     env.Out,
		Version: version.Mullion(),
		End:     endCheck,
		Kubectl: func() []string {
			program, err := kubectl()
			if err != nil {
				return nil // the one in PATH
			}
			return []string{program} // with the user's own configuration
		},
	})

	for _, sub := range cmd.Commands() {
		if sub.Name() != "programs" {
			sub.Args = cmdline.None
		}
	}

	return cmd
}

// endCheck returns the error with the exit code of a check.
func endCheck(got command.Outcome, err error) error {
	var wrong *command.UsageError
	switch {
	case errors.As(err, &wrong):
		return exit.Misuse(err, "see `mullion check --help`")
	case err != nil:
		return err
	case got.Code() == exit.OK:
		return nil
	}

	remedy := "`mullion check --explain RULE` explains a rule"
	if got.Unreadable {
		remedy = "correct the places listed above; everything else was checked"
	}

	return &exit.Error{
		Code:   got.Code(),
		Err:    fmt.Errorf("check manifests: %s", got.Message()),
		Remedy: remedy,
	}
}
