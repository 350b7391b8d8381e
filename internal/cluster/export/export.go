// Package export gathers in a folder what one looks at when a cluster does not do as it should, to send or to keep:
// logs of the cluster's parts and of pods, objects of the API server, what the machine is. Keys and kubeconfigs are not
// among it, tokens are cut out of texts, and of the objects only what is listed is kept (kept.go). What programs wrote
// to logs stays.
package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
)

// Options say what is gathered.
type Options struct {
	// Paths are where a cluster of this machine has its files; nil: the cluster is elsewhere, and only Client and Texts
	// say something of it.
	Paths   *layout.Paths
	Cluster spec.Cluster
	// Client asks the cluster's API server; nil: there is none to ask.
	Client kubeclient.Interface
	// Texts are further files, by their names.
	Texts map[string][]byte
	// Missing is what the caller itself could not have; it is named with the rest.
	Missing []error
}

// Patience is how long the API server and the cluster's parts are asked; one that is down must not keep its logs from
// being written.
const Patience = 30 * time.Second

// MissingFile is the file that names what could not be had.
const MissingFile = "missing.txt"

// Gather writes into dir, which is made if it is missing. Files in it that have the same names are replaced. What
// cannot be had does not keep the rest from being gathered: it is named in what was not gathered, one error each. The
// error is that nothing can be written.
func Gather(ctx context.Context, dir string, o Options) (missing []error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer to.Close()

	for name, text := range o.Texts {
		if err := write(to, name, text); err != nil {
			return nil, err
		}
	}

	missing = o.Missing
	if o.Paths != nil {
		lacking, err := local(to, *o.Paths, o.Cluster)
		if err != nil {
			return nil, err
		}
		missing = append(missing, lacking...)
	}

	if o.Client != nil {
		missing = append(missing, objects(ctx, to, o.Client)...)
	}
	if len(missing) > 0 {
		if err := write(to, MissingFile, []byte(errors.Join(missing...).Error()+"\n")); err != nil {
			return nil, err
		}
	}

	return missing, nil
}

// local gathers what a cluster of this machine has in files.
func local(to *os.Root, paths layout.Paths, c spec.Cluster) (missing []error, err error) {
	if err := write(to, "machine.txt", machine(paths)); err != nil {
		return nil, err
	}

	miss := func(what string, err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, fmt.Errorf("%s: %w", what, err))
		}
	}
	miss("logs of the cluster's parts", copyTexts(to, "logs", paths.Logs(), "."))
	for _, n := range c.Nodes {
		state, below := paths.Node(n.Name), path.Join("nodes", n.Name)
		pods := "root/var/log/pods"
		if !n.Linux() {
			pods = path.Join(wine.Drive(winnode.Prefix("")), "var/log/pods")
			miss("HNS of node "+n.Name, copyTexts(to, path.Join(below, "hns"), state, "hns/state.json"))
		}
		miss("logs of pods of node "+n.Name, copyTexts(to, path.Join(below, "pods"), state, pods))
	}

	return missing, nil
}

// mostOfFile is how much of the end of a file is kept, in bytes.
const mostOfFile = 16 << 20

// copyTexts copies a file, or all regular files of a folder, at the path what below the folder from. Containers can
// write to some of these folders: no link leads out of from, and those in it are left out, as what is no file is.
func copyTexts(to *os.Root, below, from, what string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(what)
	if err != nil {
		return err
	}

	if info.Mode().IsRegular() {
		return copyText(to, path.Join(below, path.Base(what)), root, what)
	}

	var errs []error
	err = fs.WalkDir(root.FS(), path.Clean(what), func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			errs = append(errs, err)
			return nil // the rest is gathered all the same
		}
		errs = append(errs, copyText(to, path.Join(below, inside(what, name)), root, name))
		return nil
	})

	return errors.Join(append(errs, err)...)
}

// inside is name without the folder dir above it.
func inside(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
}

func write(to *os.Root, name string, text []byte) error {
	if err := to.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return to.WriteFile(name, clean(text), 0o600)
}
