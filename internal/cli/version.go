package cli

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/version"
)

func (a *app) version() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of Mullion and of what it carries",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{
				"mullion": version.Mullion(), "kubernetes": version.Kubernetes,
				"go": runtime.Version(),
			}
			if output == "json" {
				return json.NewEncoder(a.env.Out).Encode(v)
			}
			_, err := fmt.Fprintf(a.env.Out, "mullion %s\nkubernetes %s\n%s %s/%s\n", v["mullion"], v["kubernetes"],
				v["go"], runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	outputFlag(cmd, &output)
	return cmd
}

func outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "text", "text or json")
	if err := cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		cmd.PrintErrln(err)
	}

	pre := cmd.PreRunE
	cmd.PreRunE = func(c *cobra.Command, args []string) error {
		if *output != "text" && *output != "json" {
			return usage(fmt.Errorf("--output %q is neither text nor json", *output),
				fmt.Sprintf("see `%s --help`", c.CommandPath()))
		}
		if pre != nil {
			return pre(c, args)
		}
		return nil
	}
}
