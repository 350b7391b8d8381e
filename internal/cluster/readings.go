package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/containerd/errdefs"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/cluster/export"
	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/partlog"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/spec"
)

// viewerLife is how long a reader's certificate is valid: a working day.
const viewerLife = 12 * time.Hour

// Bounds of what readers get. A stream lasts as long as somebody looks at it, but not for ever.
const (
	stream     = 24 * time.Hour
	mebibyte   = 1 << 20
	mostOfLogs = 4 << 30
)

// viewTable answers those who read a cluster without root.
type viewTable struct {
	paths layout.Paths
	// questions are the programs with their arguments that Windows nodes are asked by, by name. All of them only read.
	questions map[string][]string
}

// requests returns the table of all that is answered.
func (r viewTable) requests() []view.Request {
	return append([]view.Request{
		{
			Path:   "cluster",
			What:   "the specification of the cluster, without passwords",
			Within: 5 * time.Second,
			Most:   4 * mebibyte,
			AtOnce: 8,
			Answer: view.JSON(func(context.Context, view.Ask) (view.Cluster, error) { return r.cluster() }),
		},
		{
			Path:   "status",
			What:   "how the parts, nodes and pods are",
			Within: 30 * time.Second,
			Most:   16 * mebibyte,
			AtOnce: 4,
			Answer: view.JSON(func(ctx context.Context, _ view.Ask) (view.Status, error) { return r.status(ctx) }),
		},
		{
			Path:   "kubeconfig",
			What:   "a kubeconfig that may read, and no secrets, and ends within a day",
			Within: 5 * time.Second,
			Most:   mebibyte,
			AtOnce: 4,
			Answer: r.kubeconfig,
		},
		{
			Path:   "logs",
			What:   "the names of the parts that have a log",
			Within: 5 * time.Second,
			Most:   mebibyte,
			AtOnce: 8,
			Answer: view.JSON(r.logNames),
		},
		{
			Path:   "logs/{part...}",
			What:   "the log of a part, without tokens",
			Query:  []string{"tail", "follow"},
			Within: stream,
			Most:   mostOfLogs,
			AtOnce: 32,
			Answer: r.log,
		},
	}, r.nodeRequests()...)
}

func (r viewTable) cluster() (view.Cluster, error) {
	c, err := r.paths.LoadSpec()
	if err != nil {
		return view.Cluster{}, err
	}
	answer := view.Cluster{Spec: Shown(c)}
	if c.Join == nil {
		answer.Server, answer.Authority, err = r.server()
	}
	return answer, err
}

// server returns how the cluster's API server is reached on this machine.
func (r viewTable) server() (url string, authority []byte, err error) {
	admin, err := clientcmd.LoadFromFile(r.paths.AdminKubeconfig())
	if errors.Is(err, os.ErrNotExist) {
		return "", nil, nil // the cluster is on its way
	}
	if err != nil {
		return "", nil, err
	}
	for _, c := range admin.Clusters {
		url, authority = c.Server, c.CertificateAuthorityData
	}
	return url, authority, nil
}

func (r viewTable) status(ctx context.Context) (view.Status, error) {
	c, err := r.paths.LoadSpec()
	if err != nil {
		return view.Status{}, err
	}
	return Look(ctx, r.paths, c), nil
}

// Look observes a cluster, and judges what it saw.
func Look(ctx context.Context, paths layout.Paths, c spec.Cluster) view.Status {
	return Judged(Observe(ctx, paths, c), paths)
}

// Judged returns what is said of a cluster that was observed.
func Judged(o health.Observed, paths layout.Paths) view.Status {
	return view.Status{
		At:              o.At,
		Health:          health.Judge(o),
		Cluster:         Shown(o.Spec),
		CgroupParent:    paths.CgroupParent(),
		Weights:         weights(paths),
		Load:            o.Load,
		Supervisor:      o.Supervisor,
		SupervisorError: o.SupervisorError,
		APIError:        o.APIError,
	}
}

// Shown returns a cluster's description without passwords.
func Shown(c spec.Cluster) spec.Cluster {
	if c.Proxy != nil {
		without := c.Proxy.WithoutUsers()
		c.Proxy = &without
	}
	if c.Registries != nil {
		without := c.Registries.WithoutPasswords()
		c.Registries = &without
	}
	return c
}

// kubeconfig makes a kubeconfig for one reader. Its key is made for it, and not kept.
func (r viewTable) kubeconfig(_ context.Context, _ view.Ask, to io.Writer) error {
	c, err := r.paths.LoadSpec()
	if err != nil {
		return err
	}

	if c.Join != nil {
		return &view.KindError{
			Kind: view.NotFound,
			Err:  fmt.Errorf("this machine joined cluster %q, whose authority is on %s", c.Name, c.Join.Server),
		}
	}

	url, _, err := r.server()
	if err != nil {
		return err
	}
	if url == "" {
		return &view.KindError{
			Kind: view.Down,
			Err:  errors.New("the cluster is on its way up and has no kubeconfig yet"),
		}
	}

	bundle, err := pki.Open(filepath.Join(r.paths.Data, "pki"))
	if err != nil {
		return err
	}
	config, err := bundle.ShortLived(pki.Viewer(), c.Name, url, time.Now(), viewerLife)
	if err != nil {
		return err
	}

	text, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	_, err = to.Write(text)
	return err
}

func (r viewTable) logNames(context.Context, view.Ask) ([]string, error) {
	return partlog.Names(r.paths.Logs())
}

// log prints the log of a part that has one, by the name that is in the list of them.
func (r viewTable) log(ctx context.Context, ask view.Ask, to io.Writer) error {
	names, err := partlog.Names(r.paths.Logs())
	if err != nil {
		return err
	}
	part, tail := ask.Word("part"), partlog.All
	if !slices.Contains(names, part) {
		return &view.KindError{Kind: view.NotFound, Err: fmt.Errorf("no log of a component %.100q", part)}
	}

	if text := ask.Option("tail"); text != "" {
		if tail, err = strconv.Atoi(text); err != nil {
			return &view.KindError{Kind: view.Wrong, Err: fmt.Errorf("the number of lines is no number: %.40q", text)}
		}
	}
	lines := export.NewCleaner(to)
	err = partlog.Print(ctx, lines, partlog.File(r.paths.Logs(), part), tail, ask.Option("follow") == "true")
	return errors.Join(err, lines.Flush())
}

// kinds gives errors of the cluster the kinds by which a reader is told what to do.
func kinds(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*view.KindError](err); ok {
		return err
	}

	kind := view.Internal
	switch _, unknown := errors.AsType[*NotFoundError](err); {
	case unknown, errdefs.IsNotFound(err):
		kind = view.NotFound
	case errors.Is(err, ErrNotWindows):
		kind = view.NotWindows
	case errors.Is(err, winhost.ErrDown), errors.Is(err, os.ErrNotExist), isNobody(err), errdefs.IsUnavailable(err):
		kind = view.Down
	}

	return &view.KindError{Kind: kind, Err: err}
}

// serveView answers readers until ctx ends. A cluster works without it, so it is no error that ends one.
func serveView(ctx context.Context, o SuperviseOptions) {
	if err := os.RemoveAll(o.Paths.ViewWork()); err != nil {
		o.Log.Error("remove what an earlier supervisor gathered for a reader", "error", err)
	}
	table := viewTable{paths: o.Paths, questions: o.Questions}.requests()
	for i, r := range table {
		table[i].Answer = func(ctx context.Context, ask view.Ask, to io.Writer) error {
			return kinds(r.Answer(ctx, ask, to))
		}
	}

	err := view.Serve(ctx, view.Config{
		Socket:   o.Paths.View(),
		Viewers:  o.Paths.Viewers(),
		Requests: table,
		Log:      o.Log.With(slog.String("part", "view")),
	})
	if err != nil {
		o.Log.Error("the cluster cannot be read without root", "error", err)
	}
}
