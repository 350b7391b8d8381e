package cli

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cli/cmdline"
)

func (a *app) version() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of Mullion and of what it carries",
		Args:  cmdline.None,
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{
				"mullion": version.Mullion(), "kubernetes": version.Kubernetes,
				"go": runtime.Version(),
			}
			if output == "json" {
				return json.NewEncoder(a.Env.Out).Encode(v)
			}
			_, err := fmt.Fprintf(a.Env.Out, "mullion %s\nkubernetes %s\n%s %s/%s\n", v["mullion"], v["kubernetes"],
				v["go"], runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	cmdline.Output(cmd, &output)
	return cmd
}
