// Package about owns the commands that tell of Mullion itself: its version, and what it supports.
package about

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cli/cmdline"
)

// Version returns the command `mullion version`.
func Version(out io.Writer) *cobra.Command {
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
				return json.NewEncoder(out).Encode(v)
			}
			_, err := fmt.Fprintf(out, "mullion %s\nkubernetes %s\n%s %s/%s\n", v["mullion"], v["kubernetes"],
				v["go"], runtime.GOOS, runtime.GOARCH)

			return err
		},
	}
	cmdline.Output(cmd, &output)

	return cmd
}
