package cli

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/export"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/diagnose/collect"
	"mullion.dev/mullion/internal/diagnose/nodefacts"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/spec"
)

// Who is not root reads the cluster by its socket (package view): the commands below ask there what root's commands
// look at themselves.

// reads reports whether the cluster is read by its socket.
func (a *app) reads() bool { return a.env.Euid != 0 }

// completionPatience bounds what a shell waits for words to complete.
const completionPatience = 3 * time.Second

// forCompletion returns the cluster, for a shell that waits; an error means that nothing is completed.
func (a *app) forCompletion(ctx context.Context) (spec.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	_, c, err := a.described(ctx)
	return c, err
}

// described returns the cluster for a command that only reads.
func (a *app) described(ctx context.Context) (layout.Paths, spec.Cluster, error) {
	if !a.reads() {
		return a.cluster()
	}
	paths, err := a.paths()
	if err != nil {
		return paths, spec.Cluster{}, err
	}
	var c view.Cluster
	err = a.ask(ctx, paths, "cluster", nil, &c)
	return paths, c.Spec, err
}

// ask asks the cluster's socket.
func (a *app) ask(ctx context.Context, paths layout.Paths, what string, query url.Values, v any) error {
	return a.readError(paths, a.calls.view(paths).Call(ctx, what, query, v))
}

// readError gives an error of the socket its remedy and exit code.
func (a *app) readError(paths layout.Paths, err error) error {
	refused, ok := errors.AsType[*view.KindError](err)
	if !ok {
		return a.silentSocket(paths, err)
	}

	switch refused.Kind {
	case view.Stranger:
		return &Error{
			Code: ExitRequirement,
			Err:  fmt.Errorf("read the cluster in %s: %w: %s", paths.Data, refused, a.withSudo()),
		}
	case view.Busy:
		return &Error{
			Code:   ExitNotReady,
			Err:    refused,
			Remedy: "try it again in a moment",
		}
	case view.NotFound:
		return &Error{Code: ExitNotFound, Err: refused}
	case view.NotWindows:
		return usage(refused, "a Linux node has no HNS; name a Windows node")
	case view.Down:
		return &Error{
			Code:   ExitNotReady,
			Err:    refused,
			Remedy: "`mullion status` shows what is wrong, `sudo mullion up` brings it back",
		}
	case view.Wrong:
		return &Error{
			Code:   ExitRequirement,
			Err:    fmt.Errorf("read the cluster: %w", refused),
			Remedy: "it was brought up by another version of Mullion: `sudo mullion stop` and `sudo mullion up` with this one",
		}
	case view.Internal:
	}

	return fmt.Errorf("read the cluster: %w", refused)
}

// silentSocket returns the error where nobody answers: there is no cluster, it is not up, or its supervisor stands
// still.
func (a *app) silentSocket(paths layout.Paths, err error) error {
	_, isNet := errors.AsType[*net.OpError](err)
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{
			Code:   ExitNotReady,
			Err:    fmt.Errorf("read the cluster in %s: its supervisor does not answer: %w", paths.Data, err),
			Remedy: "`sudo mullion status` says what is wrong",
		}
	case !isNet:
		return fmt.Errorf("read the cluster in %s: %w", paths.Data, err)
	}
	if _, statErr := os.Stat(paths.Data); errors.Is(statErr, fs.ErrNotExist) {
		return noCluster(paths.Data, statErr)
	}

	return &Error{
		Code: ExitRequirement,
		Err: fmt.Errorf("nothing answers for a cluster in %s, and what is in that folder only root may see: %s",
			paths.Data, a.withSudo()),
	}
}

// looker returns a function that looks at the cluster, as often as it is called.
func (a *app) looker() (layout.Paths, func(context.Context) (view.Status, error), error) {
	var paths layout.Paths
	var c spec.Cluster
	var err error
	if a.reads() {
		paths, err = a.paths()
	} else {
		paths, c, err = a.cluster()
	}
	return paths, func(ctx context.Context) (view.Status, error) { return a.lookAt(ctx, paths, c) }, err
}

// lookAt says how the cluster is.
func (a *app) lookAt(ctx context.Context, paths layout.Paths, c spec.Cluster) (view.Status, error) {
	if !a.reads() {
		return cluster.Judged(a.calls.observe(ctx, paths, c), paths), nil
	}
	var s view.Status
	err := a.ask(ctx, paths, "status", nil, &s)
	return s, err
}

// clusterClient asks the cluster's API server, with the rights that the user has.
func (a *app) clusterClient(ctx context.Context, paths layout.Paths) (kubeclient.Interface, error) {
	if !a.reads() {
		return a.calls.client(paths)
	}
	x, err := a.readerAccess(ctx, paths)
	if err != nil {
		return nil, err
	}
	return cluster.ClientOf(*x.config)
}

// The questions by which a Windows node is asked about itself.
const (
	questionDiagnose = "diagnose"
	questionCollect  = "collect"
)

// questions returns the programs with their arguments, all of which only read.
func questions() map[string][]string {
	return map[string][]string{questionDiagnose: nodefacts.Command(), questionCollect: collect.Command()}
}

// readAnswer returns what a Windows node says of itself, by the cluster's socket.
func (a *app) readAnswer(ctx context.Context, node, question string) (string, error) {
	paths, err := a.paths()
	if err != nil {
		return "", err
	}
	answer, err := a.calls.view(paths).Open(ctx, view.Path("ask", node, question), nil)
	if err != nil {
		return "", a.readError(paths, err)
	}
	text, err := io.ReadAll(answer)
	return string(text), a.readError(paths, errors.Join(err, answer.Close()))
}

// ownFiles adds what this machine has in files of the cluster to what is written into dir.
func (a *app) ownFiles(ctx context.Context, dir string, paths layout.Paths, o *export.Options) error {
	if !a.reads() {
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

	archive, err := a.calls.view(paths).Open(ctx, "files", nil)
	if err != nil {
		return a.readError(paths, err)
	}
	defer func() { _ = archive.Close() }() // it is only read

	files := tar.NewReader(archive)
	for {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return a.readError(paths, err)
		}
		if head.Name == export.MissingFile {
			text, err := io.ReadAll(files)
			if err != nil {
				return a.readError(paths, err)
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

// readTrace calls told with the calls that programs make of the HNS of a node.
func (a *app) readTrace(ctx context.Context, paths layout.Paths, node string, told func(hns.TracedCall) error) error {
	lines, err := a.calls.view(paths).Open(ctx, view.Path("hns", node, "trace"), nil)
	if err != nil {
		return a.readError(paths, err)
	}
	defer func() { _ = lines.Close() }() // it is only read

	for calls := json.NewDecoder(lines); ; {
		var call hns.TracedCall
		switch err := calls.Decode(&call); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("read what the node's agent tells: %w", a.readError(paths, err))
		}
		if err := told(call); err != nil {
			return err
		}
	}
}
