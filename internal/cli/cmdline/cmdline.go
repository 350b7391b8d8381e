// Package cmdline owns what the commands' lines have in common: how arguments are counted, what is said of words and
// flags that are not there, and flags that several commands have.
package cmdline

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/windows/winver"
)

// Exactly is cobra.ExactArgs with an exit code and the names of the missing arguments.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return exit.Misuse(fmt.Errorf("`%s` takes %s, got %d argument(s)", cmd.CommandPath(), strings.Join(names, " and "),
			len(args)), fmt.Sprintf("see `%s --help`", cmd.CommandPath()))
	}
}

// Output is the flag -o of a command that prints text or JSON.
func Output(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "text", "text or json")
	if err := cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		cmd.PrintErrln(err)
	}

	pre := cmd.PreRunE
	cmd.PreRunE = func(c *cobra.Command, args []string) error {
		if *output != "text" && *output != "json" {
			return exit.Misuse(fmt.Errorf("--output %q is neither text nor json", *output),
				fmt.Sprintf("see `%s --help`", c.CommandPath()))
		}
		if pre != nil {
			return pre(c, args)
		}
		return nil
	}
}

// Complete makes the shell complete a flag with these values.
func Complete(cmd *cobra.Command, flag string, values []string) {
	if err := cmd.RegisterFlagCompletionFunc(flag,
		cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		cmd.PrintErrln(err)
	}
}

// WindowsVersions returns the names of the Windows versions that there are.
func WindowsVersions() []string {
	var names []string
	for _, b := range winver.All() {
		names = append(names, b.Name)
	}
	return names
}

// CompleteAll makes the shell complete flags with their possible values.
func CompleteAll(cmd *cobra.Command, values map[string][]string) {
	for name, all := range values {
		err := cmd.RegisterFlagCompletionFunc(name,
			func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return all, cobra.ShellCompDirectiveNoFileComp
			})
		if err != nil {
			cmd.PrintErrln(err)
		}
	}
}
