// Package frame owns what is around mullion's commands: the root command with its flags and help, how a command is run,
// and how its error is printed. Which commands there are it does not know.
package frame

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/errtext"
	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
)

// Run runs the command that the call's arguments name, and prints its error, if any, with its remedy.
func Run(ctx context.Context, call *invoke.Call, root *cobra.Command) error {
	root.SetArgs(call.Env.Args)
	root.SetIn(call.Env.In)
	root.SetOut(call.Env.Out)
	root.SetErr(call.Env.Err)
	err := explain(call, root.ExecuteContext(ctx))
	if err == nil {
		return nil
	}

	if call.Failed != nil {
		call.Failed(err)
	}
	if _, silent := errors.AsType[exit.Silent](err); !silent {
		PrintError(call.Env, err)
	}

	return err
}

// explain adds the remedy to an error that can occur in any command.
func explain(call *invoke.Call, err error) error {
	var own *exit.Error
	if err == nil || (errors.As(err, &own) && own.Remedy != "") {
		return err
	}

	if errtext.DiskFull(err) {
		return &exit.Error{
			Code: exit.Requirement,
			Err:  err,
			Remedy: fmt.Sprintf(
				"the disk that holds %s is full: free some space there, and try again; `mullion status` says how much is left", call.DataDir),
		}
	}

	return err
}

// mostOfError is how much of an error is printed, in bytes: it may have what somebody else wrote into a file.
const mostOfError = 16 << 10

// PrintError prints an error as one that ends a command is: with its remedy, and no more of it than a person reads.
func PrintError(env invoke.Env, err error) {
	shown := func(text string) string {
		text = strings.ReplaceAll(plaintext.Shortened(text, mostOfError), "\t", "    ")
		return plaintext.Printable(text)
	}
	fmt.Fprintf(env.Err, "mullion: %s\n", strings.ReplaceAll(shown(err.Error()), "\n", "\n  "))
	var own *exit.Error
	if errors.As(err, &own) && own.Remedy != "" {
		fmt.Fprintf(env.Err, "→ %s\n", shown(own.Remedy))
	}
}

// Root returns the command that has all others below it.
func Root(call *invoke.Call) *cobra.Command {
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
		Args:             cmdline.None,
		RunE:             func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}

	data := call.Env.Getenv(invoke.DataVariable)
	if data == "" {
		data = invoke.DefaultDataDir
	}

	root.PersistentFlags().StringVar(&call.DataDir, "data-dir", data,
		"folder of the cluster's state (environment: "+invoke.DataVariable+")")
	// Kubernetes' libraries add a --version of their own to every command of a program, unless the name is taken.
	root.PersistentFlags().Bool("version", false, "print Mullion's version")
	if err := root.PersistentFlags().MarkHidden("version"); err != nil {
		root.PrintErrln(err)
	}

	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("version") {
			return exit.Misuse(errors.New("unknown flag: --version"), "`mullion version` prints the versions")
		}
		cmd.SetContext(call.As(cmd.Context(), cmd.CommandPath()))
		return nil
	}

	root.SetFlagErrorFunc(cmdline.FlagError)
	Help(root, min(call.Columns(), widestHelp))
	return root
}

// Add puts commands below the root, in a group of its help.
func Add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}
