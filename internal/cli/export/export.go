// Package export owns `mullion export logs`: writing what there is of a cluster into a folder. What that is, is elsewhere.
package export

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster/export"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/spec"
)

// Calls are what the commands ask of others.
type Calls struct {
	// Status prints a picture of the cluster in a form, Lacks says what the machine lacks for the cluster.
	Status func(w io.Writer, s view.Status, paths layout.Paths, output string) error
	Lacks  func(context.Context, layout.Paths, spec.Cluster) []preflight.Finding
}

// Commands are `mullion export`.
type Commands struct {
	*reader.Reader

	calls Calls
}

// New returns the commands.
func New(r *reader.Reader, calls Calls) *Commands { return &Commands{Reader: r, calls: calls} }

// Command returns the command with those below it.
func (a *Commands) Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write what there is of the cluster into a folder",
		Args:  cmdline.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.logs())
	return cmd
}

func (a *Commands) logs() *cobra.Command {
	return &cobra.Command{
		Use:   "logs [DIR]",
		Short: "Write logs, events and the state of the cluster into a folder",
		Long: `Writes into DIR, or a new folder of the temporary folder, what one looks at when a cluster does not do as it should: what
` + "`mullion status`" + ` says, the logs of the cluster's parts and of pods, nodes, pods, Services and events of the API
server, the state of each node's HNS, and what the machine is. It works whether the cluster is up or not, and prints
the folder's path. missing.txt in it names what could not be had.

It is made to be sent: tokens are cut out of all texts; keys, kubeconfigs, Secrets and ConfigMaps are not in it. Of
objects, names, labels, images, places, states, messages and numbers are kept, and of every other text only its length:
arguments, commands, hooks, variables, headers, annotations, options of drivers. What programs themselves wrote to their
logs stays.`,
		Example: "  mullion export logs\n  mullion export logs artifacts/",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cmdline.Exactly("DIR")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, c, err := a.Described(cmd.Context())
			if err != nil {
				return err
			}

			dir := ""
			if len(args) == 1 {
				dir = args[0]
			} else if dir, err = os.MkdirTemp("", "mullion-logs-"); err != nil {
				return err
			}

			return a.writeLogs(cmd.Context(), dir, paths, c)
		},
	}
}

func (a *Commands) writeLogs(ctx context.Context, dir string, paths layout.Paths, c spec.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, export.Patience)
	defer cancel()
	look, err := a.LookAt(ctx, paths, c)
	if err != nil {
		return err
	}

	o := export.Options{Cluster: c, Texts: a.pictures(ctx, look, paths, c)}
	if o.Client, err = a.clientOf(ctx, look, paths); err != nil {
		return err
	}
	if err := a.ownFiles(ctx, dir, paths, &o); err != nil {
		return err
	}

	missing, err := export.Gather(ctx, dir, o)
	if err != nil {
		return fmt.Errorf("write to %q: %w", dir, err)
	}
	for _, m := range missing {
		fmt.Fprintf(a.Env.Err, "warning: not written: %s\n", m)
	}

	fmt.Fprintln(a.Env.Out, dir)
	return nil
}

// clientOf returns the client of a cluster that has an API server of its own, which answers; nil for another.
func (a *Commands) clientOf(ctx context.Context, look view.Status, paths layout.Paths) (kubeclient.Interface, error) {
	if look.APIError != "" {
		return nil, nil // there is no error, and nobody to ask
	}
	client, err := a.ClusterClient(ctx, paths)
	if errors.Is(err, fs.ErrNotExist) || exit.Code(err) == exit.NotFound { // a machine that joined has no administrator
		return nil, nil // the same
	}
	return client, err
}

// pictures returns the files that say how the cluster is.
func (a *Commands) pictures(ctx context.Context, s view.Status, paths layout.Paths, c spec.Cluster) map[string][]byte {
	var text, forPrograms, lacks bytes.Buffer
	_ = a.calls.Status(&text, s, paths, "text") // its error is what it prints
	_ = a.calls.Status(&forPrograms, s, paths, "json")
	for _, f := range a.calls.Lacks(ctx, paths, c) {
		fmt.Fprintf(&lacks, "%s: %s\n", f.Check, f.Problem)
	}

	return map[string][]byte{
		"version.txt":   fmt.Appendf(nil, "mullion %s\nkubernetes %s\n", version.Mullion(), version.Kubernetes),
		"status.txt":    text.Bytes(),
		"status.json":   forPrograms.Bytes(),
		"preflight.txt": lacks.Bytes(),
	}
}

// ownFiles adds what this machine has in files of the cluster to what is written into dir.
func (a *Commands) ownFiles(ctx context.Context, dir string, paths layout.Paths, o *export.Options) error {
	if !a.Reads() {
		o.Paths = &paths
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}

	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()

	archive, err := a.View(paths).Open(ctx, "files", nil)
	if err != nil {
		return a.ReadError(paths, err)
	}
	defer func() { _ = archive.Close() }() // it is only read

	files := tar.NewReader(archive)
	for {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return a.ReadError(paths, err)
		}

		if head.Name == export.MissingFile {
			text, err := io.ReadAll(files)
			if err != nil {
				return a.ReadError(paths, err)
			}
			for line := range strings.Lines(string(text)) {
				o.Missing = append(o.Missing, errors.New(strings.TrimSpace(line)))
			}
			continue
		}

		if err := unpack(to, head.Name, files); err != nil {
			return fmt.Errorf("write %q: %w", head.Name, err)
		}
	}
}

// unpack writes a file beneath a folder.
func unpack(to *os.Root, name string, from io.Reader) error {
	if err := to.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// AddOwn adds what is of this machine's cluster to what is written into dir.
func (a *Commands) AddOwn(ctx context.Context, dir string, o *export.Options) error {
	ctx, cancel := context.WithTimeout(ctx, export.Patience)
	defer cancel()
	paths, c, err := a.Described(ctx)
	if err != nil {
		return err
	}

	look, err := a.LookAt(ctx, paths, c)
	if err != nil {
		return err
	}
	o.Cluster = c
	maps.Copy(o.Texts, a.pictures(ctx, look, paths, c))
	return a.ownFiles(ctx, dir, paths, o)
}
