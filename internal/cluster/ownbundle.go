package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/cluster/layout"
)

// OwnBundle is a bundle of a person's own that lies in a cluster's data folder, at most one of a version. It is there
// before the cluster is described: what describes the cluster needs the bundle's version.
type OwnBundle struct {
	// Version is what its programs say.
	Version string
	// Dir is the folder in which it lies, as one of those that ResolveVersions looks in.
	Dir string
	// Notes say what a person may not expect of it.
	Notes []string

	paths layout.Paths
	// isNew and madeFolder: it, or the whole data folder, was not there before.
	isNew, madeFolder bool
}

// TakeBundle puts the bundle that sources make (see bundle.Take) into the data folder. It is a ConflictError where the
// cluster that is there has other programs of that version. Discard takes the bundle back.
func TakeBundle(ctx context.Context, paths layout.Paths, sources []string) (*OwnBundle, error) {
	ctx, held, err := Hold(ctx, paths)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	_, err = os.Stat(filepath.Join(paths.Data, "version"))
	own := &OwnBundle{
		Dir:        paths.Data,
		paths:      paths,
		madeFolder: errors.Is(err, fs.ErrNotExist),
	}

	if err := claimData(paths); err != nil {
		return nil, err
	}

	if err := own.take(ctx, sources); err != nil {
		return nil, errors.Join(err, own.Discard(ctx))
	}
	return own, nil
}

// TryBundle is TakeBundle for a cluster that is not brought up: the bundle lies in dir, a folder that the caller
// removes.
func TryBundle(ctx context.Context, dir string, sources []string) (*OwnBundle, error) {
	own := &OwnBundle{Dir: dir, paths: layout.Paths{Data: dir}}
	return own, own.take(ctx, sources)
}

// newBundle is how the folder of a bundle that is being taken is called.
const newBundle = ".new-"

func (o *OwnBundle) take(ctx context.Context, sources []string) error {
	dir := filepath.Join(o.paths.Data, "kubernetes")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	unlock, err := lockFolder(dir)
	if err != nil {
		return err
	}
	defer unlock()

	interrupted, err := filepath.Glob(filepath.Join(dir, newBundle+"*"))
	if err != nil {
		return err
	}
	for _, old := range interrupted {
		if err := os.RemoveAll(old); err != nil {
			return err
		}
	}

	made, err := os.MkdirTemp(dir, newBundle+"*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	if err := os.Chmod(made, 0o755); err != nil {
		return err
	}

	if o.Version, err = bundle.Take(ctx, made, sources); err != nil {
		return err
	}
	return o.put(bundle.Bundle{Dir: made})
}

// put gives a bundle its place, unless it is there already.
func (o *OwnBundle) put(made bundle.Bundle) error {
	place := bundle.At(o.paths.Data, o.Version)
	if place.There() {
		same, err := bundle.Same(made, place)
		if err != nil {
			return err
		}
		if same {
			return nil
		}

		if _, err := os.Stat(o.paths.Spec()); err == nil {
			return &ConflictError{
				Err: fmt.Errorf("the cluster in %q has Kubernetes %s already, and other programs of it than --bundle has",
					o.paths.Data, o.Version),
				Remedy: "`mullion down` removes it; `mullion node set` changes kubelet and kube-proxy of one node",
			}
		}

		if err := os.RemoveAll(place.Dir); err != nil { // of an `up` that was interrupted
			return err
		}
	}

	o.isNew = true
	return os.Rename(made.Dir, place.Dir)
}

// Describe fills in Notes: of a version that lies beside Mullion's programs too, and of an etcd that is another
// bundle's, unless the bundle is for nodes alone.
func (o *OwnBundle) Describe(bin string, nodesOnly bool) {
	if bundle.At(bin, o.Version).There() {
		o.Notes = append(o.Notes, o.Version+" lies beside mullion too; that of --bundle is used")
	}
	if !nodesOnly && !bundle.At(o.Dir, o.Version).HasEtcd() {
		o.Notes = append(o.Notes, "it has no etcd; that of Kubernetes "+version.Kubernetes+", which comes with Mullion, is used")
	}
}

// Discard removes the bundle again, unless it was there before or the cluster in the data folder has it. A data folder
// that was made for it goes too, unless it remembers what a join has left in its cluster.
func (o *OwnBundle) Discard(ctx context.Context) error {
	ctx, held, err := Hold(ctx, o.paths)
	if err != nil {
		return err
	}
	defer held.Release()

	c, err := o.paths.LoadSpec()
	switch {
	case err == nil && (!o.isNew || slices.Contains(Versions(c), o.Version)):
		return nil
	case err == nil:
		return os.RemoveAll(bundle.At(o.paths.Data, o.Version).Dir)
	case !errors.Is(err, fs.ErrNotExist):
		return err // a cluster that cannot be read may have it
	case o.madeFolder && !o.paths.Leftover():
		defer interrupt.Finishing(ctx)()
		return Down(context.WithoutCancel(ctx), o.paths, func(string) {})

	case o.isNew:
		return os.RemoveAll(bundle.At(o.paths.Data, o.Version).Dir)
	}

	return nil
}

// lockFolder waits until no other process holds the folder, and holds it until unlock is called.
func lockFolder(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %q: %w", dir, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}
