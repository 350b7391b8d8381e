package image

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/archive"
	"github.com/containerd/containerd/v2/pkg/archive/compression"
	"github.com/containerd/errdefs"
	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"

	"mullion.dev/mullion/internal/base/errtext"
)

// labelChecked, on a layer's blob, is the diff ID with which the blob was read to its end and found good. It saves
// reading a layer again: the manifests of an index, one for each Windows build, mostly share their layers.
const labelChecked = "dev.mullion.checked"

// labelSnapshot, on an image's configuration blob, names the snapshot that the image was unpacked into, or is
// noSnapshot. The image is present when its configuration has this label.
const labelSnapshot = "dev.mullion.snapshot"

// Values of labelSnapshot that are no snapshot's name.
const (
	// noSnapshot is the value for an image that has base layers only.
	noSnapshot = "none"
	// notUnpacked is the value for a complete image that a node's store will unpack.
	notUnpacked = "later"
)

// snapshotPrefix begins the names of our snapshots. It distinguishes them from the snapshots that containerd unpacks
// itself, without regard to Windows. Change the number when layers are unpacked differently.
const snapshotPrefix = "windows1-"

// ErrDiskFull says that the disk that holds containerd's state has no room.
var ErrDiskFull = errors.New("no space left on the disk of the image store")

// diskFull wraps an out-of-space error, which containerd passes on as text only, in ErrDiskFull.
func diskFull(err error) error {
	if errtext.DiskFull(err) {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}

// snapshotName returns the name of the snapshot that holds the layers with these diff IDs, lowest first.
func snapshotName(diffIDs []digest.Digest) string {
	return snapshotPrefix + identity.ChainID(diffIDs).String()
}

// finish makes an image present whose blobs are stored: it unpacks the image or, in a store that unpacks nothing,
// checks its layers and leaves the unpacking to other stores.
func (s *Store) finish(ctx context.Context, sel selection, progress func(Progress)) error {
	if s.cfg.SystemFiles != "" {
		_, err := s.unpack(ctx, sel, progress)
		return err
	}

	info, err := s.content.Info(ctx, sel.config.Digest)
	if err != nil {
		return fmt.Errorf("look at image configuration %s: %w", sel.config.Digest, err)
	}
	if info.Labels[labelSnapshot] != "" {
		return nil
	}

	room := newBudget()
	for _, l := range sel.own() {
		if err := s.checkOnce(ctx, l, room, progress); err != nil {
			return fmt.Errorf("check layer %s: %w", l.blob.Digest, err)
		}
	}

	return s.label(ctx, sel.config.Digest, map[string]string{labelSnapshot: notUnpacked})
}

// label sets labels of a blob.
func (s *Store) label(ctx context.Context, blob digest.Digest, labels map[string]string) error {
	var paths []string
	for k := range labels {
		paths = append(paths, "labels."+k)
	}
	if _, err := s.content.Update(ctx, content.Info{Digest: blob, Labels: labels}, paths...); err != nil {
		return fmt.Errorf("label blob %s: %w", blob, err)
	}
	return nil
}

// unpackLater unpacks an image that another store left to this one (notUnpacked), and returns its snapshot.
func (s *Store) unpackLater(ctx context.Context, sel selection) (snapshot string, err error) {
	s.unpacking.Lock()
	defer s.unpacking.Unlock()
	err = s.inLease(ctx, func(ctx context.Context) error {
		snapshot, err = s.unpack(ctx, sel, func(Progress) {})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("unpack image %s: %w", sel.config.Digest, diskFull(err))
	}
	return snapshot, nil
}

// unpack makes the snapshots of an image's own layers, unless they exist, labels its configuration and returns the
// name of the last snapshot.
func (s *Store) unpack(ctx context.Context, sel selection, progress func(Progress)) (string, error) {
	parent := ""
	room := newBudget()
	var chain []digest.Digest
	for _, l := range sel.own() {
		chain = append(chain, l.diffID)
		name := snapshotName(chain)
		if _, err := s.snapshots.Stat(ctx, name); err == nil {
			parent = name
			continue
		} else if !errdefs.IsNotFound(err) {
			return "", fmt.Errorf("stat snapshot %q: %w", name, err)
		}

		progress(Progress{
			Step:   "unpack",
			Digest: l.blob.Digest.String(),
			Total:  l.blob.Size,
		})
		if err := s.unpackLayer(ctx, l, name, parent, room); err != nil {
			return "", fmt.Errorf("unpack layer %s: %w", l.blob.Digest, err)
		}
		parent = name
	}

	labels := map[string]string{labelSnapshot: noSnapshot}
	if parent != "" {
		labels = map[string]string{labelSnapshot: parent, "containerd.io/gc.ref.snapshot." + s.cfg.Snapshotter: parent}
	}

	return parent, s.label(ctx, sel.config.Digest, labels)
}

// unpackLayer makes snapshot name from parent and one layer.
func (s *Store) unpackLayer(ctx context.Context, l layer, name, parent string, room *budget) error {
	windows := false

	before := *room
	for {
		*room = before
		key := fmt.Sprintf(snapshots.UnpackKeyFormat, uuid.NewString(), name)
		mounts, err := s.snapshots.Prepare(ctx, key, parent)
		if err != nil {
			return fmt.Errorf("prepare snapshot: %w", err)
		}

		err = s.applyLayer(ctx, mounts, l, windows, room)
		if err == nil {
			err = s.snapshots.Commit(ctx, name, key)
		}
		if err == nil {
			return nil
		}

		if rmErr := s.snapshots.Remove(context.WithoutCancel(ctx), key); rmErr != nil && !errdefs.IsNotFound(rmErr) {
			err = errors.Join(err, fmt.Errorf("remove snapshot %q: %w", key, rmErr))
		}

		switch {
		case errdefs.IsAlreadyExists(err): // another store unpacked the same layer meanwhile
			return nil
		case errors.Is(err, errWindowsInside) && !windows:
			windows = true
		default:
			return err
		}
	}
}

// applyLayer writes a layer's files into a prepared snapshot. It works on the snapshot's folders directly, without
// mounting, as containerd's own applier for overlay does. windows says that the layer holds Windows itself.
func (s *Store) applyLayer(ctx context.Context, mounts []mount.Mount, l layer, windows bool, room *budget) (err error) {
	upper, lower, err := snapshotFolders(mounts)
	if err != nil {
		return err
	}
	names, err := newNames(upper, lower, s.cfg.SystemFiles)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, names.Close()) }()

	filter := &layerFilter{
		names:   names,
		owner:   s.cfg.Owner,
		windows: windows,
		room:    room,
	}
	if err := filter.folders("Files"); err != nil { // even an empty layer has the folder of C:
		return err
	}

	opts := []archive.ApplyOpt{
		archive.WithFilter(filter.entry),
		archive.WithConvertWhiteout(archive.OverlayConvertWhiteout),
	}
	if len(lower) > 0 {
		opts = append(opts, archive.WithParents(lower))
	}

	return s.readLayer(ctx, l, room, func(r io.Reader) error {
		_, err := archive.Apply(ctx, upper, r, opts...)
		return err
	})
}

// checkOnce checks a layer unless labelChecked says that it was checked before.
func (s *Store) checkOnce(ctx context.Context, l layer, room *budget, progress func(Progress)) error {
	info, err := s.content.Info(ctx, l.blob.Digest)
	if err != nil {
		return fmt.Errorf("look at blob: %w", err)
	}
	if info.Labels[labelChecked] == l.diffID.String() {
		return nil
	}

	progress(Progress{
		Step:   "check",
		Digest: l.blob.Digest.String(),
		Total:  l.blob.Size,
	})
	if err := s.checkLayer(ctx, l, room); err != nil {
		return err
	}

	return s.label(ctx, l.blob.Digest, map[string]string{labelChecked: l.diffID.String()})
}

// checkLayer reads a layer to its end and returns the error that unpacking it would give.
func (s *Store) checkLayer(ctx context.Context, l layer, room *budget) error {
	filter := &layerFilter{names: &names{folders: map[string]map[string]string{}}, room: room}
	return s.readLayer(ctx, l, room, func(r io.Reader) error {
		tr := tar.NewReader(r)
		for {
			hdr, err := tr.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read layer: %w", err)
			}

			if _, err := filter.entry(hdr); errors.Is(err, errWindowsInside) {
				filter.windows = true
			} else if err != nil {
				return err
			}
		}
	})
}

// readLayer calls do with a layer's tar stream, and then compares the stream's digest with the image's. A stream for
// which there is no room ends with an error.
func (s *Store) readLayer(ctx context.Context, l layer, room *budget, do func(io.Reader) error) (err error) {
	ra, err := s.content.ReaderAt(ctx, l.blob)
	if err != nil {
		return fmt.Errorf("open blob: %w", err)
	}
	defer func() { err = errors.Join(err, ra.Close()) }()
	plain, err := decompress(content.NewReader(ra))
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}

	defer func() { err = errors.Join(err, plain.Close()) }()

	digester := digest.Canonical.Digester()
	r := io.TeeReader(room.reader(plain), digester.Hash())
	if err := do(r); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r); err != nil { // what follows the archive's end counts for the digest
		return fmt.Errorf("read layer to its end: %w", err)
	}

	if got := digester.Digest(); got != l.diffID {
		return fmt.Errorf("wrong diff id %s calculated on extraction, the image says %s: %w", got, l.diffID,
			errdefs.ErrInvalidArgument)
	}

	return nil
}

// decompress returns containerd's DecompressStream, but bounds the memory that zstd takes.
func decompress(r io.Reader) (io.ReadCloser, error) {
	const longestMagic = 8
	buffered := bufio.NewReader(r)
	head, err := buffered.Peek(longestMagic)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if compression.DetectCompression(head) != compression.Zstd {
		return compression.DecompressStream(buffered)
	}

	// Without "low memory" it keeps twice the window, and need not move all of it for each block.
	z, err := zstd.NewReader(buffered, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(false))
	if err != nil {
		return nil, err
	}

	return z.IOReadCloser(), nil
}

// snapshotFolders finds the folder that a snapshot is written into and those below it, nearest first.
func snapshotFolders(mounts []mount.Mount) (upper string, lower []string, err error) {
	if len(mounts) != 1 {
		return "", nil, fmt.Errorf("snapshot has %d mounts, want 1: %w", len(mounts), errdefs.ErrNotImplemented)
	}

	m := mounts[0]
	switch m.Type {
	case "bind":
		return m.Source, nil, nil
	case "overlay":
		for _, o := range m.Options {
			if v, ok := strings.CutPrefix(o, "upperdir="); ok {
				upper = v
			} else if v, ok := strings.CutPrefix(o, "lowerdir="); ok {
				lower = strings.Split(v, ":")
			}
		}
		if upper != "" {
			return upper, lower, nil
		}
	}

	return "", nil, fmt.Errorf("snapshot mount of type %q: want bind or a writable overlay: %w", m.Type,
		errdefs.ErrNotImplemented)
}
