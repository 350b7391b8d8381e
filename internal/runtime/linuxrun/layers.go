package linuxrun

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/archive"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"
)

func (r *Runner) snapshotter() string {
	if r.Snapshotter == "" {
		return "overlayfs"
	}
	return r.Snapshotter
}

func (r *Runner) snapshots() snapshots.Snapshotter { return r.Client.SnapshotService(r.snapshotter()) }

// snapshotOf names the snapshot of unpacked layers.
func snapshotOf(layers []Layer) string {
	sums := make([]digest.Digest, 0, len(layers))
	for _, l := range layers {
		sums = append(sums, l.DiffID)
	}
	return fmt.Sprintf("linux-%d-%s", Owner, identity.ChainID(sums))
}

// unpacked unpacks layers unless that is done, and returns the name of the top one's snapshot.
func (r *Runner) unpacked(ctx context.Context, layers []Layer) (string, error) {
	if len(layers) == 0 {
		return "", fmt.Errorf("the image has no files: %w", errdefs.ErrInvalidArgument)
	}
	ctx, lease, err := r.lease(ctx)
	if err != nil {
		return "", err
	}

	parent := ""
	for i, l := range layers {
		name := snapshotOf(layers[:i+1])
		if err := r.unpack(ctx, l, name, parent); err != nil {
			return "", err
		}
		parent = name
	}

	// It holds the others. One that was there is not the lease's yet.
	return parent, r.Client.LeasesService().AddResource(ctx, lease, leases.Resource{
		ID:   parent,
		Type: "snapshots/" + r.snapshotter(),
	})
}

// unpack unpacks one layer over another. Somebody else may do so meanwhile.
func (r *Runner) unpack(ctx context.Context, l Layer, name, parent string) (err error) {
	all := r.snapshots()
	if _, err := all.Stat(ctx, name); err == nil || !errdefs.IsNotFound(err) {
		return err
	}

	making := "linux-unpack-" + rand.Text()
	mounts, err := all.Prepare(ctx, making, parent)
	if err != nil {
		return err
	}

	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreMissing(all.Remove(context.WithoutCancel(ctx), making)))
		}
	}()

	err = inside(ctx, mounts, func(root string) error {
		if parent == "" { // the root of a layer over another has that one's owner
			if err := os.Chown(root, Owner, Owner); err != nil {
				return err
			}
		}
		return apply(ctx, root, l)
	})
	if err != nil {
		return fmt.Errorf("layer %s: %w", l.DiffID, err)
	}

	if err := all.Commit(ctx, name, making); err != nil && !errdefs.IsAlreadyExists(err) {
		return err
	} else if err != nil {
		return ignoreMissing(all.Remove(ctx, making)) // somebody else was faster
	}

	return nil
}

// inside does something in files that are mounted meanwhile. An error is its own, without a word of the mount.
func inside(ctx context.Context, files []mount.Mount, do func(root string) error) error {
	var own error
	err := mount.WithTempMount(ctx, files, func(root string) error {
		own = do(root)
		return nil
	})
	return errors.Join(own, err)
}

func ignoreMissing(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// apply unpacks a layer into a folder, with the users of the machine.
func apply(ctx context.Context, root string, l Layer) error {
	from, err := l.Open()
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()

	check := digest.SHA256.Digester()
	all := io.TeeReader(from, check.Hash())
	left := wholeRoom()
	within := func(h *tar.Header) (bool, error) { return takeIn(h, &left) }
	_, err = archive.Apply(ctx, root, all, archive.WithFilter(within))
	if err != nil {
		return err
	}

	if _, err := io.Copy(io.Discard, interruptible{ctx, all}); err != nil { // what is behind the archive's end
		return err
	}
	if got := check.Digest(); got != l.DiffID {
		return fmt.Errorf("it is %s: %w", got, errdefs.ErrDataLoss)
	}
	return nil
}

// takeIn changes a file of a layer to what it is on the machine, and reports whether it is there at all. It takes the
// file's room before its holes are written.
func takeIn(h *tar.Header, left *room) (bool, error) {
	if err := left.take(1, h.Size); err != nil {
		return false, err
	}
	if h.Typeflag == tar.TypeBlock || h.Typeflag == tar.TypeChar {
		return false, nil // a container has those of its own /dev
	}
	if h.Uid < 0 || h.Uid >= users || h.Gid < 0 || h.Gid >= users {
		return false, fmt.Errorf("%q is of user %d and group %d, and a container has %d: %w", h.Name, h.Uid, h.Gid, users,
			errdefs.ErrInvalidArgument)
	}

	h.Uid += Owner
	h.Gid += Owner
	keepXattrs(h.PAXRecords)
	return true, nil
}

// WriteLayer writes the layer of what the command of a container has changed, which has ended. What was mounted is none
// of it.
func (r *Runner) WriteLayer(ctx context.Context, c Command, w io.Writer) error {
	own, err := r.snapshots().Mounts(ctx, c.ID)
	if err != nil {
		return err
	}
	dir, err := upperOf(own)
	if err != nil {
		return err
	}

	return writeUpper(ctx, dir, c.mounted, w)
}

// upperOf returns the folder that a container has written to.
func upperOf(mounts []mount.Mount) (string, error) {
	for _, m := range mounts {
		for _, option := range m.Options {
			if dir, ok := strings.CutPrefix(option, "upperdir="); ok {
				return dir, nil
			}
		}
	}
	return "", fmt.Errorf("the container's files are no overlay: %w", errdefs.ErrNotImplemented)
}

// mounted reports whether a name is where something is mounted, or below that: runc makes such files and folders.
func (c Command) mounted(name string) bool {
	below := func(target string) bool {
		target = filepath.Clean("/" + target)
		return name == target || strings.HasPrefix(name, target+"/")
	}
	for _, m := range c.Mounts {
		if below(m.Target) {
			return true
		}
	}
	return below("/proc") || below("/dev")
}
