// Package reader owns how commands read a cluster: root looks at it, and anybody else asks its socket. It changes
// nothing.
package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/spec"
)

// Reader reads the cluster of a call. Who is not root reads it by its socket (package view): commands ask there what
// root's commands look at themselves.
type Reader struct {
	*invoke.Call
	Sources
}

// Sources are where a cluster is looked at.
type Sources struct {
	// View asks the cluster's socket, Client its API server with the administrator's rights.
	View   func(layout.Paths) view.Client
	Client func(layout.Paths) (kubeclient.Interface, error)
	// Observe looks at the cluster itself.
	Observe func(context.Context, layout.Paths, spec.Cluster) health.Observed
	// Patience bounds what is asked of the API.
	Patience time.Duration
}

// ReaderTo returns the reader with another place for what is printed.
func (r *Reader) ReaderTo(out io.Writer) *Reader { return &Reader{Call: r.To(out), Sources: r.Sources} }

// RealSources returns those of the program.
func RealSources() Sources {
	return Sources{
		View:     func(paths layout.Paths) view.Client { return view.NewClient(paths.View()) },
		Client:   cluster.Client,
		Observe:  cluster.Observe,
		Patience: Patience,
	}
}

// CompletionPatience bounds what a shell waits for words to complete.
const CompletionPatience = 3 * time.Second

// ForCompletion returns the cluster, for a shell that waits; an error means that nothing is completed.
func (r *Reader) ForCompletion(ctx context.Context) (spec.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, CompletionPatience)
	defer cancel()
	_, c, err := r.Described(ctx)
	return c, err
}

// Described returns the cluster for a command that only reads.
func (r *Reader) Described(ctx context.Context) (layout.Paths, spec.Cluster, error) {
	if !r.Reads() {
		return r.Cluster()
	}
	paths, err := r.Paths()
	if err != nil {
		return paths, spec.Cluster{}, err
	}
	var c view.Cluster
	err = r.Ask(ctx, paths, "cluster", nil, &c)
	return paths, c.Spec, err
}

// Ask asks the cluster's socket.
func (r *Reader) Ask(ctx context.Context, paths layout.Paths, what string, query url.Values, v any) error {
	return r.ReadError(paths, r.View(paths).Call(ctx, what, query, v))
}

// ReadError gives an error of the socket its remedy and exit code.
func (r *Reader) ReadError(paths layout.Paths, err error) error {
	refused, ok := errors.AsType[*view.KindError](err)
	if !ok {
		return r.silentSocket(paths, err)
	}

	switch refused.Kind {
	case view.Stranger:
		return &exit.Error{
			Code: exit.Requirement,
			Err:  fmt.Errorf("read the cluster in %s: %w: %s", paths.Data, refused, r.WithSudo()),
		}

	case view.Busy:
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    refused,
			Remedy: "try it again in a moment",
		}

	case view.NotFound:
		return &exit.Error{Code: exit.NotFound, Err: refused}
	case view.NotWindows:
		return exit.Misuse(refused, "a Linux node has no HNS; name a Windows node")
	case view.Down:
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    refused,
			Remedy: "`mullion status` shows what is wrong, `sudo mullion up` brings it back",
		}

	case view.Wrong:
		return &exit.Error{
			Code:   exit.Requirement,
			Err:    fmt.Errorf("read the cluster: %w", refused),
			Remedy: "it was brought up by another version of Mullion: `sudo mullion stop` and `sudo mullion up` with this one",
		}
	case view.Internal:
	}

	return fmt.Errorf("read the cluster: %w", refused)
}

// silentSocket returns the error where nobody answers: there is no cluster, it is not up, or its supervisor stands
// still.
func (r *Reader) silentSocket(paths layout.Paths, err error) error {
	_, isNet := errors.AsType[*net.OpError](err)
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    fmt.Errorf("read the cluster in %s: its supervisor does not answer: %w", paths.Data, err),
			Remedy: "`sudo mullion status` says what is wrong",
		}

	case !isNet:
		return fmt.Errorf("read the cluster in %s: %w", paths.Data, err)
	}

	if _, statErr := os.Stat(paths.Data); errors.Is(statErr, fs.ErrNotExist) {
		return remedy.NoCluster(paths.Data, statErr)
	}

	return &exit.Error{
		Code: exit.Requirement,
		Err: fmt.Errorf("nothing answers for a cluster in %s, and what is in that folder only root may see: %s",
			paths.Data, r.WithSudo()),
	}
}

// Looker returns a function that looks at the cluster, as often as it is called.
func (r *Reader) Looker() (layout.Paths, func(context.Context) (view.Status, error), error) {
	var paths layout.Paths
	var c spec.Cluster
	var err error
	if r.Reads() {
		paths, err = r.Paths()
	} else {
		paths, c, err = r.Cluster()
	}
	return paths, func(ctx context.Context) (view.Status, error) { return r.LookAt(ctx, paths, c) }, err
}

// LookAt says how the cluster is.
func (r *Reader) LookAt(ctx context.Context, paths layout.Paths, c spec.Cluster) (view.Status, error) {
	if !r.Reads() {
		return cluster.Judged(r.Observe(ctx, paths, c), paths), nil
	}
	var s view.Status
	err := r.Ask(ctx, paths, "status", nil, &s)
	return s, err
}

// ClusterClient asks the cluster's API server, with the rights that the user has.
func (r *Reader) ClusterClient(ctx context.Context, paths layout.Paths) (kubeclient.Interface, error) {
	if !r.Reads() {
		return r.Client(paths)
	}
	x, err := r.Access(ctx, paths)
	if err != nil {
		return nil, err
	}
	return cluster.ClientOf(*x.Config)
}

// CompleteNodes completes the first argument with the names of the nodes.
func (r *Reader) CompleteNodes(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		if c, err := r.ForCompletion(cmd.Context()); err == nil {
			for _, n := range c.Nodes {
				names = append(names, n.Name)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// Admin returns a client of the cluster in the data folder, with the administrator's kubeconfig.
func (r *Reader) Admin(paths layout.Paths) (kubeclient.Interface, spec.Cluster, error) {
	c, err := paths.LoadSpec()
	if err != nil {
		return nil, c, r.StateError(paths.Data, err)
	}
	if err := remedy.NoControlPlane(c); err != nil {
		return nil, c, err
	}
	if _, err := os.Stat(paths.AdminKubeconfig()); err != nil {
		return nil, c, r.StateError(paths.Data, err)
	}
	client, err := bootstrap.Client(paths.AdminKubeconfig(), nil)
	return client, c, err
}

// Patience bounds requests to the API by commands.
const Patience = 30 * time.Second

// OwnClient asks the cluster of this machine, which has to have its control plane here.
func (r *Reader) OwnClient(ctx context.Context) (kubeclient.Interface, spec.Cluster, error) {
	paths, c, err := r.Described(ctx)
	if err != nil {
		return nil, c, err
	}
	client, err := r.ClusterClient(ctx, paths)
	if errors.Is(err, fs.ErrNotExist) && c.Join != nil {
		return nil, c, remedy.NoControlPlane(c)
	}
	return client, c, err
}
