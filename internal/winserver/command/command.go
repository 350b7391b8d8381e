// Package command owns the commands of mullion-agent: what they are called, what they print, and their exit codes. What
// they do is package winserver's.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/winserver"
	"mullion.dev/mullion/internal/winserver/bundle"
	"mullion.dev/mullion/internal/winserver/journal"
	"mullion.dev/mullion/internal/winserver/local"
	"mullion.dev/mullion/internal/winserver/preflight"
)

// The exit codes, which are mullion's.
const (
	exitInternal    = 1
	exitUsage       = 2
	exitRequirement = 3  // preflight found what keeps the server from joining, or a bundle lacks programs
	exitConflict    = 4  // the server or the cluster has something else in that place
	exitNotReady    = 5  // the node or a service did not get ready in time
	exitNotFound    = 6  // the server is no node
	exitRefused     = 10 // the cluster does not accept the token, or is not the one that was to be joined
)

// Env is what the program has of its process.
type Env struct {
	Out, Err io.Writer
	Args     []string
	Hostname func() (string, error)
	// Host is the server, Facts what is known of it.
	Host  func() (winserver.Host, error)
	Facts func(context.Context, local.Asked) (preflight.Facts, error)
}

// usageError says that the flags are wrong.
type usageError struct{ error }

// Unwrap returns the cause.
func (e usageError) Unwrap() error { return e.error }

// errChecks says that a check of preflight failed; it has been printed.
var errChecks = errors.New("a check failed")

// Run runs the program and returns its exit code.
func Run(ctx context.Context, env Env) int {
	root := &cobra.Command{
		Use:   "mullion-agent.exe",
		Short: "Make a Windows Server a node of a Kubernetes cluster",
		Long: `mullion-agent makes a Windows Server 2019, 2022 or 2025 a node of a cluster that ` + "`mullion server`" + ` or kubeadm made, and
takes it out again. It installs upstream's unmodified programs from a bundle, writes their configuration, makes the
network of the node's pods, and registers the services containerd, kubelet and kube-proxy. Each change is in
C:\ProgramData\mullion-agent\journal.json before it is made; ` + "`leave`" + ` takes back what is there, and nothing else.

Start it from a prompt that was opened with "Run as administrator".`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	//nolint:contextcheck // cobra hands the context to each command
	root.AddCommand(env.preflight(), env.join(), env.status(), env.upgrade(), env.leave(), env.version())
	root.SetArgs(env.Args)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}

	if !errors.Is(err, errChecks) {
		fmt.Fprintf(env.Err, "mullion-agent: %v\n", err)
		if to := remedy(err); to != "" {
			fmt.Fprintf(env.Err, "→ %s\n", to)
		}
	}

	return code(err)
}

func code(err error) int {
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}

	switch {
	case errors.Is(err, errChecks), errors.Is(err, bundle.ErrMissing), errors.Is(err, bundle.ErrForm),
		errors.Is(err, local.ErrSystem), errors.Is(err, winserver.ErrSkew):
		return exitRequirement

	case errors.Is(err, winserver.ErrConflict), errors.Is(err, winserver.ErrNetworkMode):
		return exitConflict
	case errors.Is(err, winserver.ErrNotReady):
		return exitNotReady
	case errors.Is(err, journal.ErrNone):
		return exitNotFound
	}

	for _, refused := range []error{
		discovery.ErrUnreachable, discovery.ErrNotReady, discovery.ErrToken, discovery.ErrSecret,
		discovery.ErrAuthority, discovery.ErrClock, discovery.ErrExpired, winserver.ErrForeign,
	} {
		if errors.Is(err, refused) {
			return exitRefused
		}
	}

	return exitInternal
}

// remedy returns what a person can do.
func remedy(err error) string {
	for _, r := range []struct {
		is error
		do string
	}{
		{discovery.ErrUnreachable, "is the server up, and its TCP port open for this machine?"},
		{discovery.ErrNotReady, "is it the API server's address? If the cluster has just been made, wait"},
		{discovery.ErrToken, "make another on the server: mullion token create --print-windows"},
		{discovery.ErrSecret, "check the part of the token after the dot; if it is right, another server answers at that address"},
		{discovery.ErrAuthority, "compare the hash with the one that the server prints on its own screen; if they differ, another server answers"},
		{discovery.ErrClock, "set the clocks of both machines: w32tm /resync"},
		{bundle.ErrMissing, "name more bundles: --bundle may be repeated; docs/windows-server.md says which archives have which programs"},
		{winserver.ErrSkew, "take a bundle of the API server's version, or at most three minor versions older: https://kubernetes.io/releases/version-skew-policy/#kubelet"},
		{winserver.ErrUntrusted, "look at what is there (Get-Acl says whose it is), and remove it or make Administrators its owner: takeown /a /r /f PATH"},
		{winserver.ErrConflict, "mullion-agent.exe preflight says what is in the way; mullion-agent.exe leave ends a node that the agent made"},
		{winserver.ErrNotReady, "C:\\var\\log and the event log say more; `join` again goes on where this one ended, `leave` takes it back"},
		{winserver.ErrNetworkMode, "use --network none, and deploy the cluster's own network for Windows nodes"},
		{journal.ErrNone, "mullion-agent.exe join makes it one"},
	} {
		if errors.Is(err, r.is) {
			return r.do
		}
	}

	if _, ok := errors.AsType[usageError](err); ok {
		return "mullion-agent.exe COMMAND --help says what there is"
	}
	return ""
}

// say prints one line a step, with the time since the beginning.
func (e Env) say() winserver.Say {
	began := time.Now()
	return func(format string, args ...any) {
		fmt.Fprintf(e.Out, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
}

// noArgs refuses arguments that are no flags.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("`%s` takes no arguments, got %q", cmd.CommandPath(), args)}
	}
	return nil
}

func (e Env) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the agent's version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(e.Out, version.Mullion())
			return err
		},
	}
}

// output is the flag -o.
func output(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVarP(to, "output", "o", "text", "form of what is printed: text or json")
}

func checkOutput(form string) error {
	if form != "text" && form != "json" {
		return usageError{fmt.Errorf("-o %q is neither text nor json", form)}
	}
	return nil
}

func (e Env) printJSON(v any) error {
	enc := json.NewEncoder(e.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
