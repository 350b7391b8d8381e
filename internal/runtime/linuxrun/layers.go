package linuxrun

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/archive"
	"github.com/containerd/continuity/fs"
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
	_, err = archive.Apply(ctx, root, all, archive.WithFilter(func(h *tar.Header) (bool, error) {
		if h.Uid < 0 || h.Uid >= users || h.Gid < 0 || h.Gid >= users {
			return false, fmt.Errorf("%q is of user %d and group %d, and a container has %d: %w", h.Name, h.Uid, h.Gid, users,
				errdefs.ErrInvalidArgument)
		}
		h.Uid += Owner
		h.Gid += Owner
		return true, nil
	}))
	if err != nil {
		return err
	}

	if _, err := io.Copy(io.Discard, all); err != nil { // what is behind the archive's end
		return err
	}
	if got := check.Digest(); got != l.DiffID {
		return fmt.Errorf("it is %s: %w", got, errdefs.ErrDataLoss)
	}
	return nil
}

// WriteLayer writes the layer of what the command of a container has changed, which has ended. What was mounted is none
// of it. layers are those below.
func (r *Runner) WriteLayer(ctx context.Context, c Command, w io.Writer) (err error) {
	all := r.snapshots()
	own, err := all.Mounts(ctx, c.ID)
	if err != nil {
		return err
	}
	upper, err := upperOf(own)
	if err != nil {
		return err
	}

	ctx, release, err := r.Client.WithLease(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release(context.WithoutCancel(ctx))) }()
	view := c.ID + "-below"
	below, err := all.View(ctx, view, snapshotOf(c.Layers))
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, ignoreMissing(all.Remove(context.WithoutCancel(ctx), view))) }()

	read, write := io.Pipe()
	go func() { write.CloseWithError(changes(ctx, below, upper, c, write)) }()
	err = withUsers(w, read)
	_ = read.CloseWithError(err)
	return err
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

// changes writes the layer as it is on the machine.
func changes(ctx context.Context, below []mount.Mount, upper string, c Command, w io.Writer) error {
	return inside(ctx, below, func(lower string) error {
		to := archive.NewChangeWriter(w, upper)
		err := fs.DiffDirChanges(ctx, lower, upper, fs.DiffSourceOverlayFS,
			func(kind fs.ChangeKind, name string, info os.FileInfo, err error) error {
				if ctxErr := ctx.Err(); ctxErr != nil {
					return ctxErr
				}
				if err == nil && c.mounted(name) {
					return nil
				}
				return to.HandleChange(kind, name, info, err)
			})
		if err != nil {
			return err
		}

		return to.Close()
	})
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

// withUsers copies a layer, and gives its files the users of the container. What the machine's root has made there, as
// the place of a mount, is the container's root's.
func withUsers(w io.Writer, from io.Reader) error {
	own := func(id int) int {
		if id -= Owner; id < 0 || id >= users {
			return 0
		}
		return id
	}

	to := tar.NewWriter(w)
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return to.Close()
		}
		if err != nil {
			return err
		}

		h.Uid, h.Gid = own(h.Uid), own(h.Gid)
		if isWhiteout(h) {
			// The file below leads nowhere, which is taken for no file.
			h.Typeflag, h.Mode = tar.TypeReg, 0
			h.Name = path.Join(path.Dir(h.Name), whiteout+path.Base(h.Name))
		}
		if err := to.WriteHeader(h); err != nil {
			return err
		}

		if _, err := io.Copy(to, r); err != nil {
			return err
		}
	}
}

// whiteout begins the names of what is deleted (https://github.com/opencontainers/image-spec/blob/v1.1.1/layer.md).
const whiteout = ".wh."

// isWhiteout reports whether a file is an overlay's mark of one that is deleted
// (https://docs.kernel.org/filesystems/overlayfs.html#whiteouts-and-opaque-directories).
func isWhiteout(h *tar.Header) bool {
	return h.Typeflag == tar.TypeChar && h.Devmajor == 0 && h.Devminor == 0
}
