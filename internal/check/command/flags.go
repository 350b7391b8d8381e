package command

import (
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/windows/winver"
)

// addFlags gives cmd the flags of the options.
func addFlags(cmd *cobra.Command, o *Options) {
	f := cmd.Flags()
	f.StringVar(&o.Kubernetes, "kubernetes-version", "",
		"Kubernetes version of the cluster, 1.14 or later (default "+version.KubernetesMinor()+")")
	f.StringSliceVar(&o.Windows, "windows-version", nil,
		"Windows versions of the nodes (default "+strings.Join(LongTerm(), ",")+")")

	f.BoolVar(&o.Offline, "offline", false, "ask no registry: judge images by their names, and by --image-layout")
	f.StringSliceVar(&o.ImageLayouts, "image-layout", nil,
		"folder or tar archive of images (OCI image layout, docker save) to look images up in, before their registries")

	f.StringVar(&o.FailOn, "fail-on", "",
		"severity from which findings make the exit code: error, warning or info (default error)")
	f.StringVarP(&o.Output, "output", "o", "text", strings.Join(Outputs(), ", ")+"; json is an object a line")
	f.BoolVar(&o.ShowSuppressed, "show-suppressed", false,
		"print also the findings that the annotation "+check.IgnoreAnnotation+" ignores")

	f.BoolVar(&o.Cluster, "cluster", false,
		"check what is in the cluster of kubectl's current context, in place of files")
	f.StringVar(
		&o.Fix, "fix", "", "change the files where a rule knows how (write, also without a value), or print what would change (diff)")
	f.Lookup("fix").NoOptDefVal = FixWrite
	f.StringVar(&o.Config, "config", "",
		"configuration file (default the nearest "+ConfigName+" from the working directory upward)")

	complete(cmd, "output", Outputs())
	complete(cmd, "fail-on", []string{string(check.Error), string(check.Warning), string(check.Info)})
	complete(cmd, "fix", []string{FixWrite, FixDiff})
	complete(cmd, "windows-version", winver.Names())
}

// complete makes the shell complete the values of a flag.
func complete(cmd *cobra.Command, flag string, values []string) {
	// The only error is that the flag does not exist; a test completes all flags.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
