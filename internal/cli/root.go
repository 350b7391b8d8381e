// Package cli owns mullion's command line: flags, help, messages, exit codes. Each command parses, calls the package
// that does the work, and prints. It holds no logic of clusters.
package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/errtext"
	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

const defaultDataDir = "/var/lib/mullion"

// app holds what every command needs.
type app struct {
	env     Env
	calls   calls
	dataDir string
	events  *events // where errors are told to a program too; nil: nowhere
}

// Run runs the command in env.Args and prints an error, if any, with its remedy.
func Run(ctx context.Context, env Env) error {
	return (&app{env: env, calls: realCalls()}).run(ctx)
}

// Command returns the command with all below it, for documents to be made of.
func Command() *cobra.Command { return (&app{calls: realCalls()}).root() }

func (a *app) run(ctx context.Context) error {
	env := a.env
	root := a.root() //nolint:contextcheck // cobra hands the context to each command
	root.SetArgs(env.Args)
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	err := a.explain(root.ExecuteContext(ctx))
	if err == nil {
		return nil
	}

	if a.events != nil {
		a.events.failed(err)
	}
	if _, silent := errors.AsType[*silentError](err); !silent {
		printError(env, err)
	}

	return err
}

// explain adds the remedy to an error that can occur in any command.
func (a *app) explain(err error) error {
	var own *Error
	if err == nil || (errors.As(err, &own) && own.Remedy != "") {
		return err
	}

	if errtext.DiskFull(err) {
		return &Error{
			Code: ExitRequirement,
			Err:  err,
			Remedy: fmt.Sprintf(
				"the disk that holds %s is full: free some space there, and try again; `mullion status` says how much is left", a.dataDir),
		}
	}

	return err
}

// mostOfError is how much of an error is printed, in bytes: it may have what somebody else wrote into a file.
const mostOfError = 16 << 10

func printError(env Env, err error) {
	shown := func(text string) string {
		text = strings.ReplaceAll(plaintext.Shortened(text, mostOfError), "\t", "    ")
		return plaintext.Printable(text)
	}
	fmt.Fprintf(env.Err, "mullion: %s\n", strings.ReplaceAll(shown(err.Error()), "\n", "\n  "))
	var own *Error
	if errors.As(err, &own) && own.Remedy != "" {
		fmt.Fprintf(env.Err, "→ %s\n", shown(own.Remedy))
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "mullion",
		Short: "Windows nodes for Kubernetes, on a Linux machine without Windows",
		Long: `Mullion brings up a real Kubernetes cluster with Windows nodes on a Linux machine without Windows. The control plane is
upstream's. The Windows nodes run upstream's own kubelet.exe under Wine; Mullion implements what kubelet.exe needs
of Windows beyond that.

  mullion up                                  a cluster with a Linux node and two Windows Server 2025 nodes
  mullion up --windows-version ltsc2019,ltsc2025
  mullion kubectl get nodes -o wide
  mullion node exec win-1 -- cmd /c ver
  mullion down                                removes every trace`,
		Version:          version.Mullion(),
		TraverseChildren: true, // flags before "kubectl", whose own flags are not parsed
		SilenceUsage:     true,
		SilenceErrors:    true,
		Args:             noArgs,
		RunE:             func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}

	data := a.env.Getenv("MULLION_DATA_DIR")
	if data == "" {
		data = defaultDataDir
	}

	root.PersistentFlags().StringVar(&a.dataDir, "data-dir", data,
		"folder of the cluster's state (environment: MULLION_DATA_DIR)")
	// Kubernetes' libraries add a --version of their own to every command of a program, unless the name is taken.
	root.PersistentFlags().Bool("version", false, "print Mullion's version")
	if err := root.PersistentFlags().MarkHidden("version"); err != nil {
		root.PrintErrln(err)
	}

	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("version") {
			return usage(errors.New("unknown flag: --version"), "`mullion version` prints the versions")
		}
		cmd.SetContext(a.as(cmd.Context(), cmd.CommandPath()))
		return nil
	}

	root.SetFlagErrorFunc(flagError)
	helpIn(root, min(a.columns(), widestHelp))

	root.AddGroup(
		&cobra.Group{ID: "cluster", Title: "The cluster:"},
		&cobra.Group{ID: "machines", Title: "Several machines:"},
		&cobra.Group{ID: "use", Title: "Using it:"},
		&cobra.Group{ID: "about", Title: "About Mullion:"},
	)
	a.add(root, "cluster", a.doctor(), a.up(), a.stop(), a.down(), a.status(), a.logs(), a.export())
	a.add(root, "machines", a.server(), a.token(), a.join(), a.leave())
	a.add(root, "use", a.runSingle(), a.kubectl(), a.kubeconfig(), a.node(), a.image(), a.net(), a.hns())
	a.add(root, "use", a.check(), a.diagnoseNodes(), a.collect(), a.fault(), a.explainPod(), a.conformance())
	a.add(root, "about", a.support(), a.version())
	root.SetHelpCommandGroupID("about")
	root.SetCompletionCommandGroupID("about")
	root.AddCommand(a.supervise(), a.runEngine())
	root.InitDefaultCompletionCmd()

	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" { // cobra's own, which takes an unknown shell for a wish for help
			cmd.Args, cmd.RunE = noArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}

	return root
}

func (a *app) add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

func (a *app) paths() (layout.Paths, error) {
	data, err := filepath.Abs(a.dataDir)
	if err != nil {
		return layout.Paths{}, err
	}
	return layout.Paths{Data: data, Bin: filepath.Dir(a.env.Executable)}, nil
}

// cluster returns the cluster that the data folder describes, whether it is up or not.
func (a *app) cluster() (layout.Paths, spec.Cluster, error) {
	paths, err := a.paths()
	if err != nil {
		return paths, spec.Cluster{}, err
	}
	c, err := paths.LoadSpec()
	if err != nil {
		return paths, c, a.stateError(paths.Data, err)
	}
	return paths, c, nil
}

// exactArgs is cobra.ExactArgs with an exit code and the names of the missing arguments.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return usage(fmt.Errorf("`%s` takes %s, got %d argument(s)", cmd.CommandPath(), strings.Join(names, " and "),
			len(args)), fmt.Sprintf("see `%s --help`", cmd.CommandPath()))
	}
}
