// Package node owns `mullion node`: what is done on and to a node's host, of Windows or Linux.
package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/hosts"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// Calls are what the commands ask of a cluster's nodes.
type Calls struct {
	Switch     func(layout.Paths) (Switch, error)
	SetProgram func(context.Context, layout.Paths, cluster.ProgramChange) (running bool, err error)
	Disks      func(context.Context, layout.Paths, string, hostdisk.Request) (hostdisk.Answer, error)
}

// Real returns those of the program.
func Real() Calls {
	return Calls{
		Switch:     openSwitch,
		SetProgram: cluster.SetProgram,
		Disks:      cluster.Disks,
	}
}

// commands are `mullion node`.
type commands struct {
	*reader.Reader

	calls Calls
}

// New returns the command with those below it.
func New(r *reader.Reader, calls Calls) *cobra.Command {
	a := &commands{Reader: r, calls: calls}
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Run programs on a node's host, as after logging on to it, copy files, set its programs, its disks, switch it off and on",
		Args:  cmdline.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.exec(), a.shell(), a.copy(), a.set(), a.disk(), a.stop(), a.start(),
		a.restart())
	return cmd
}

func (a *commands) exec() *cobra.Command {
	return &cobra.Command{
		Use:     "exec NODE -- PROGRAM [ARG…]",
		Short:   "Run a program on a host and end with its exit code",
		Example: "  mullion node exec win-1 -- cmd /c ver\n  mullion node exec win-1 -- ipconfig /all\n  mullion node exec linux-1 -- nft list ruleset",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return exit.Misuse(errors.New("`mullion node exec` takes a node and a program"),
					"for example: mullion node exec win-1 -- cmd /c ver")
			}
			return nil
		},
		ValidArgsFunction: a.CompleteNodes,
		RunE: func(cmd *cobra.Command,
			args []string,
		) error {
			return a.runOnHost(cmd, args[0], args[1], args[2:]...)
		},
	}
}

func (a *commands) shell() *cobra.Command {
	return &cobra.Command{
		Use:   "shell NODE [-- COMMAND…]",
		Short: "A prompt on a host: cmd.exe on Windows, sh on Linux",
		Long: `Opens a prompt on a node's host, as after logging on to it: cmd.exe on a Windows host, in which powershell opens
another one, and sh on a Linux host. With a command after -- that command is run by the same shell, and the exit code
is the command's.

A bare host (bare: true in cluster.yaml) is prepared by hand in this way. exit ends the prompt.`,
		Example:           "  mullion node shell win-1\n  mullion node shell win-1 -- dir C:\\k\n  mullion node shell win-1 -- powershell",
		Args:              shellArgs,
		ValidArgsFunction: a.CompleteNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			shell, run := "cmd", []string{"/c"}
			if _, linux, err := hosts.Linux(a.Call, args[0]); err != nil {
				return err
			} else if linux {
				shell, run = "sh", []string{"-c"}
			}

			switch command := args[1:]; {
			case len(command) == 0:
				run = nil
			case shell == "sh":
				run = append(run, strings.Join(command, " "))
			default:
				run = append(run, command...)
			}

			return a.runOnHost(cmd, args[0], shell, run...)
		},
	}
}

// shellArgs takes a node, and after -- the words of a command.
func shellArgs(cmd *cobra.Command, args []string) error {
	if at := cmd.ArgsLenAtDash(); len(args) == 0 || at == 0 || (at < 0 && len(args) > 1) || at > 1 {
		return exit.Misuse(errors.New("`mullion node shell` takes a node, and after -- a command"),
			"for example: mullion node shell win-1 -- dir C:\\k")
	}
	return nil
}

func (a *commands) runOnHost(cmd *cobra.Command, node, program string, args ...string) error {
	run, err := a.hostRunner(cmd.Context(), node, append([]string{program}, args...))
	if err != nil {
		return err
	}
	a.Env.LetInterruptEnd() // the program gets Ctrl-C from the terminal
	err = run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.Silent(max(ended.ExitCode(), 1))
	}
	return remedy.NodeDown(node, err)
}

// hostRunner returns a function that runs a command on a node's host.
func (a *commands) hostRunner(ctx context.Context, node string, argv []string) (func() error, error) {
	linux, isLinux, err := hosts.Linux(a.Call, node)
	if err != nil {
		return nil, err
	}

	if isLinux {
		child := linux.Command(ctx, argv[0], argv[1:]...)
		child.Env = append(child.Env, proc.MarkerVariable+"="+a.DataDir, "TERM="+a.Env.Getenv("TERM"))
		child.Stdin = a.Env.In
		child.Stdout = a.Env.Out
		child.Stderr = a.Env.Err
		return func() error { return linux.Exec(ctx, child) }, nil
	}

	h, err := hosts.Windows(a.Call, node)
	if err != nil {
		return nil, err
	}

	// mullion-run.exe finds the program as Windows does and loads the hooks into it, as in a container
	child := h.Command(ctx, wine.RunProgram, append([]string{"--"}, argv...)...)
	child.Stdin = a.Env.In
	child.Stdout = a.Env.Out
	child.Stderr = a.Env.Err

	return func() error { return h.Run(ctx, child) }, nil
}

func (a *commands) copy() *cobra.Command {
	return &cobra.Command{
		Use:     "cp SOURCE TARGET",
		Short:   "Copy a file to or from a Windows host's C: drive",
		Example: "  mullion node cp tool.exe win-1:C:/tools/tool.exe\n  mullion node cp win-1:C:/k/kubelet.log .",
		Args:    cmdline.Exactly("SOURCE", "TARGET"),
		RunE: func(_ *cobra.Command, args []string) error {
			from, err := a.copyPlace(args[0])
			if err != nil {
				return err
			}

			to, err := a.copyPlace(args[1])
			if err != nil {
				return err
			}

			if info, err := os.Stat(to.Path); err == nil && info.IsDir() {
				// Named as the argument is, so that a link that a pod planted there is refused too.
				in := strings.TrimRight(args[1], `/\`) + "/" + filepath.Base(from.Path)
				if to, err = a.copyPlace(in); err != nil {
					return err
				}
			}

			return hosts.Copy(from, to)
		},
	}
}

// copyPlace returns the place of an argument of cp, which is a local path or NODE:C:/path.
func (a *commands) copyPlace(arg string) (hosts.Place, error) {
	node, path, ok := strings.Cut(arg, ":")
	if !ok || strings.ContainsAny(node, `/\.`) {
		return hosts.Place{Path: arg}, nil
	}

	paths, err := a.Paths()
	if err != nil {
		return hosts.Place{}, err
	}

	if _, linux, err := hosts.Linux(a.Call, node); err != nil {
		return hosts.Place{}, err
	} else if linux {
		return hosts.Place{}, exit.Misuse(fmt.Errorf("%s: node %s is a Linux node", arg, node),
			fmt.Sprintf(
				"read with `mullion node exec %[1]s -- cat FILE`, write with `mullion node exec %[1]s -- tee FILE`",
				node))
	}

	if _, err := hosts.Windows(a.Call, node); err != nil {
		return hosts.Place{}, err
	}

	drive := wine.Drive(cluster.HostPrefix(paths, node))
	unix, err := wine.UnixPath(drive, path)
	if err != nil {
		return hosts.Place{}, exit.Misuse(fmt.Errorf("%s: %w", arg, err), `name a path on C:, for example win-1:C:/tools/x.exe`)
	}

	return hosts.Place{Path: unix, Drive: drive}, nil
}
