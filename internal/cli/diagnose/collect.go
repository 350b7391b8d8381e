package diagnose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster/export"
	"mullion.dev/mullion/internal/diagnose/collect"
	"mullion.dev/mullion/internal/diagnose/nodepod"
)

// AddOwn adds what is of this machine's cluster to what is written into dir.
type AddOwn func(ctx context.Context, dir string, o *export.Options) error

// collector is `mullion collect`.
type collector struct {
	commands

	own AddOwn
}

// NewCollect returns the command `mullion collect`.
func NewCollect(r *reader.Reader, own AddOwn) *cobra.Command {
	a := &collector{commands: commands{r}, own: own}
	var f askFlags

	cmd := &cobra.Command{
		Use:   "collect [NODE…]",
		Short: "Make an archive of what Windows nodes say of themselves, and of the cluster, to send or to keep",
		Long: `Makes a .tar.gz of what one looks at when a Windows node does not do as it should. Of each Windows node it has the
files that SIG Windows' collectlogs.ps1 makes: HNS' networks, endpoints and policies, ipconfig, routes; and services,
processes, connections, pods, containers and images of the container runtime, event logs and the ends of logs. Of the
cluster it has nodes, pods, Services and events, and if it is this machine's, all that ` + "`mullion export logs`" + `
writes.

It collects from this machine's cluster, or with --kubeconfig or --context from any other, whose Windows nodes need not
be Mullion's. NODE narrows it to some Windows nodes. The hosts of this machine are asked directly; other nodes only
with --node-pods: it makes a HostProcess pod on each node, in kube-system, and removes it afterwards.

It is made to be sent: tokens are cut out of all texts; keys, kubeconfigs, Secrets and ConfigMaps are not in it. Of
objects, names, labels, images, places, states, messages and numbers are kept, and of every other text only its length:
arguments, commands, hooks, variables, headers, annotations, options of drivers. What programs themselves wrote to their
logs stays. missing.txt in it names what could not be had. The exit code is 0 also if something is missing, 2 for wrong
flags, 3 if the cluster could not be asked.`,
		Example: `  mullion collect
  mullion collect win-1 -o win-1.tar.gz
  mullion collect --context prod --node-pods`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.windowsNodes(cmd.Context(), f, args), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runCollect(cmd.Context(), f, args) },
	}

	f.addTo(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "",
		"the archive's file, which must not be there (default: mullion-collect-TIME.tar.gz in this folder)")
	return cmd
}

// nodePatience is how long a host is asked: it starts a program for each file, one after the other.
const nodePatience = 3 * time.Minute

// nodesAtOnce is how many nodes are asked at the same time.
const nodesAtOnce = 8

func (a *collector) runCollect(ctx context.Context, f askFlags, nodes []string) error {
	name := f.output
	if name == "" {
		name = "mullion-collect-" + time.Now().UTC().Format("20060102T150405Z") + ".tar.gz"
	}

	client, err := a.client(ctx, f)
	if err != nil {
		return err
	}
	picture, err := a.pictureOf(ctx, client, nodes)
	if err != nil {
		return err
	}

	var looked []string
	for _, n := range picture.Nodes {
		if picture.Looked(n.Name) {
			looked = append(looked, n.Name)
		}
	}

	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return exit.Misuse(fmt.Errorf("make the archive: %w", err), "name another file with --output")
	}

	err = a.collectInto(ctx, out, f, client, looked)
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	fmt.Fprintln(a.Env.Out, name)
	return nil
}

func (a *collector) collectInto(ctx context.Context, out io.Writer, f askFlags, client kubeclient.Interface,
	nodes []string,
) error {
	dir, err := os.MkdirTemp("", "mullion-collect-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	texts, missing := a.nodesFiles(ctx, f, client, nodes)
	o := export.Options{
		Client:  client,
		Texts:   texts,
		Missing: missing,
	}

	if f.own() {
		if err := a.own(ctx, dir, &o); err != nil {
			return err
		}
	}

	patience, cancel := context.WithTimeout(ctx, export.Patience)
	defer cancel()
	notWritten, err := export.Gather(patience, dir, o)
	if err != nil {
		return fmt.Errorf("write to %q: %w", dir, err)
	}
	for _, m := range notWritten {
		fmt.Fprintf(a.Env.Err, "warning: not collected: %s\n", m)
	}

	return export.Archive(ctx, out, dir, "mullion-collect")
}

// nodesFiles returns the files of the nodes, and what could not be had.
func (a *collector) nodesFiles(ctx context.Context, f askFlags, client kubeclient.Interface, nodes []string,
) (files map[string][]byte, missing []error) {
	files = map[string][]byte{}
	var ask func(ctx context.Context, node string) (string, error)
	switch {
	case f.nodePods:
		if err := nodepod.Sweep(ctx, client); err != nil {
			missing = append(missing, err)
		}
		ask = func(ctx context.Context, node string) (string, error) {
			return nodepod.Ask(ctx, client, node, f.image, collect.Command())
		}

	case f.own():
		ask = func(ctx context.Context, node string) (string, error) {
			return a.answerOfHost(ctx, nodePatience, node, questionCollect)
		}
	default:
		return files, []error{errors.New("what the nodes say of themselves: --node-pods asks them by a HostProcess pod on each")}
	}

	var all sync.WaitGroup
	var mu sync.Mutex
	room := make(chan struct{}, nodesAtOnce)
	for _, node := range nodes {
		fmt.Fprintf(a.Env.Err, "asking node %s\n", node)

		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			text, err := ask(ctx, node)
			of, whole := collect.Files(text)
			if err == nil && !whole {
				err = endsEarly(node, text)
			}
			mu.Lock()
			defer mu.Unlock()

			if err != nil {
				missing = append(missing, err)
			}
			for name, content := range of {
				files[path.Join("nodes", node, name)] = content
			}
		})
	}

	all.Wait()
	return files, missing
}
