package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/kubenode"
)

type setFlags struct {
	kubelet, proxy string
	upstream       bool
}

func (a *commands) set() *cobra.Command {
	var f setFlags

	cmd := &cobra.Command{
		Use:   "set NODE",
		Short: "Give a node a kubelet or kube-proxy of your own",
		Long: `Has a node run your kubelet or kube-proxy in the place of upstream's: kubelet.exe and kube-proxy.exe on a Windows
node, kubelet and kube-proxy on a Linux node. The file is copied, so what you build later changes nothing until
you set it again. Where the cluster is up, the program is started at once, pods go on, and the command waits until
it is ready. If it does not get ready, the node has its former program again.

A file that is for another system, or that says that it is another program, is refused. A version that does not go
with the control plane's is named and taken, and so is a file that does not say what it is.

The node keeps the program over ` + "`mullion stop`" + ` and ` + "`mullion up`" + `. ` + "`mullion status`" + ` marks it with (own);
` + "`mullion logs kubelet/NODE`" + ` is its log.`,
		Example: `  mullion node set win-1 --kubelet _output/bin/kubelet.exe
  mullion node set win-1 --kube-proxy ./kube-proxy.exe
  mullion node set win-1 --default`,
		Args:              cmdline.Exactly("NODE"),
		ValidArgsFunction: a.CompleteNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runSet(cmd.Context(), args[0], f)
		},
	}

	flags := cmd.Flags()
	flags.StringVar(&f.kubelet, "kubelet", "", "your kubelet.exe, or on a Linux node your kubelet")
	flags.StringVar(&f.proxy, "kube-proxy", "", "your kube-proxy.exe, or on a Linux node your kube-proxy")
	flags.BoolVar(&f.upstream, "default", false, "put upstream's back in the place of all of your own")
	return cmd
}

// check refuses flags that contradict each other, and files that are not there.
func (f setFlags) check() error {
	switch own := f.kubelet != "" || f.proxy != ""; {
	case own && f.upstream:
		return exit.Misuse(errors.New("--default and a program of your own exclude each other"),
			"set the program, or leave it out; see `mullion node set --help`")
	case !own && !f.upstream:
		return exit.Misuse(errors.New("`mullion node set` takes --kubelet, --kube-proxy or --default"),
			"for example: mullion node set win-1 --kubelet ./kubelet.exe")
	}

	for _, file := range []string{f.kubelet, f.proxy} {
		if _, err := os.Stat(file); file != "" && err != nil {
			return exit.Misuse(fmt.Errorf("read the program: %w", err), "name a program that you have built")
		}
	}

	return nil
}

func (a *commands) runSet(ctx context.Context, node string, f setFlags) error {
	if err := f.check(); err != nil {
		return err
	}

	paths, err := a.Paths()
	if err != nil {
		return err
	}
	if err := a.RequireRoot("puts a program into a node's host"); err != nil {
		return err
	}

	own, err := cluster.OwnProgramsOf(paths, node)
	if err != nil {
		return setError(paths, node, "", err)
	}
	ctx, held, err := a.Hold(ctx, paths)
	if err != nil {
		return err
	}
	defer held.Release()

	if f.upstream && len(own) == 0 {
		fmt.Fprintf(a.Env.Out, "node %s has upstream's kubelet and kube-proxy already\n", node)
	}

	for _, p := range []struct{ part, file string }{{kubenode.Kubelet, f.kubelet}, {kubenode.KubeProxy, f.proxy}} {
		if p.file == "" && (!f.upstream || !slices.Contains(own, p.part)) {
			continue
		}
		if err := a.setProgram(ctx, paths, node, p.part, p.file); err != nil {
			return err
		}
	}

	return nil
}

// setProgram gives one part of a node its program, and says what it has then.
func (a *commands) setProgram(ctx context.Context, paths layout.Paths, node, part, file string) error {
	started := time.Now()
	running, err := a.calls.SetProgram(ctx, paths, cluster.ProgramChange{
		Node: node,
		Part: part,
		File: file,
		Said: func(line string) { fmt.Fprintf(a.Env.Err, "warning: %s\n", line) },
	})
	if err != nil {
		return setError(paths, node, part, err)
	}

	what := "a copy of " + file
	if file == "" {
		what = "upstream's again"
	}
	if running {
		fmt.Fprintf(a.Env.Out, "%s of node %s is %s, ready after %.1fs\n", part, node, what, time.Since(started).Seconds())
	} else {
		fmt.Fprintf(a.Env.Out, "%s of node %s is %s, from the next `mullion up` on\n", part, node, what)
	}

	return nil
}

// setError gives the error of a program that cannot be set its remedy and exit code.
func setError(paths layout.Paths, node, part string, err error) error {
	var wrong *bundle.WrongProgramError
	var other *bundle.OtherProgramError
	var notReady *cluster.NotReadyError
	switch {
	case errors.As(err, &wrong):
		return exit.Misuse(err, fmt.Sprintf("build %s for %s/amd64: GOOS=%[2]s GOARCH=amd64",
			kubenode.ProgramName(part, wrong.System), wrong.System))

	case errors.As(err, &other):
		return exit.Misuse(err, fmt.Sprintf("name a %s: a build of k8s.io/kubernetes/cmd/%[1]s", part))
	case errors.Is(err, cluster.ErrNoSuchPart):
		return exit.Misuse(err, "it has none with kubeProxyMode none, in modes nat and transparent, and on Windows Server 2016, 1709 and 1803")
	case errors.As(err, &notReady):
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    err,
			Remedy: fmt.Sprintf("see `mullion logs %s/%s --tail 50`", part, node),
		}

	case errors.Is(err, os.ErrNotExist):
		return remedy.NoCluster(paths.Data, err)
	}

	return remedy.NotFound(err)
}
