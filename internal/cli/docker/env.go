package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
)

// shells returns those whose words `mullion docker env` knows; the first is that of all shells like sh.
func shells() []string { return []string{"bash", "fish", "powershell"} }

func (a *commands) env() *cobra.Command {
	var shell string
	var unset bool
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the lines that tell a shell's programs of the engine",
		Long: `Prints the line that sets DOCKER_HOST in a shell, which docker and Testcontainers read. bash stands for sh, zsh
and their like. It needs no root.`,
		Example: `  eval "$(mullion docker env)"
  mullion docker env --shell fish | source
  eval "$(mullion docker env --unset)"`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, err := a.paths(cmd)
			if err != nil {
				return err
			}

			if shell == "" {
				shell = shellOf(a.Env.Getenv("SHELL"))
			}
			if !slices.Contains(shells(), shell) {
				return exit.Misuse(fmt.Errorf("--shell %q is none of %s", shell, strings.Join(shells(), ", ")),
					"for example: --shell bash")
			}

			value := address(paths)
			if unset {
				value = ""
			} else if _, err := os.Stat(paths.Docker()); errors.Is(err, fs.ErrNotExist) {
				return a.notUp(cmd, paths)
			}
			fmt.Fprintln(a.Env.Out, line(shell, value))
			return nil
		},
	}
	cmd.Flags().StringVar(&shell, "shell", "", "bash, fish or powershell (default: as $SHELL is)")
	cmd.Flags().BoolVarP(&unset, "unset", "u", false, "print the line that takes it back")
	cmdline.Complete(cmd, "shell", shells())

	return cmd
}

// shellOf returns the shell that a program is, or is like.
func shellOf(program string) string {
	switch path.Base(program) {
	case "fish":
		return "fish"
	case "pwsh", "powershell":
		return "powershell"
	}
	return "bash"
}

// line sets DOCKER_HOST in a shell, or takes it back if the value is "". A socket's path has no character that means
// something there: it is a folder's and a hash.
func line(shell, value string) string {
	switch {
	case shell == "fish" && value == "":
		return "set -e DOCKER_HOST;"
	case shell == "fish":
		return fmt.Sprintf("set -gx DOCKER_HOST %q;", value)
	case shell == "powershell" && value == "":
		return "Remove-Item Env:DOCKER_HOST"
	case shell == "powershell":
		return fmt.Sprintf("$Env:DOCKER_HOST = %q", value)
	case value == "":
		return "unset DOCKER_HOST"
	}
	return fmt.Sprintf("export DOCKER_HOST=%q", value)
}
