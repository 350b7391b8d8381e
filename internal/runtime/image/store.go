package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// labelWindows marks the references that a Store has made.
const (
	labelWindows = "dev.mullion.os"
	valueWindows = "windows"
)

// labelPinned marks an image that the kubelet must not collect; containerd's CRI plugin uses the same
// (https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/labels/labels.go).
const (
	labelPinned = "io.cri-containerd.pinned"
	valuePinned = "pinned"
)

// labelLocal marks a reference that Pull returns without asking a registry (LoadOptions.Local).
const (
	labelLocal = "dev.mullion.image.local"
	valueLocal = "true"
)

// Get finds an image by ID (whole, or its beginning, with or without "sha256:") or by reference. The error is
// errdefs.ErrNotFound when the node does not have it.
func (s *Store) Get(ctx context.Context, idOrRef string) (Info, error) {
	return s.GetFor(ctx, idOrRef, "")
}

// GetFor is Get for a runtime handler: of an index it returns the manifest that fits the handler's isolation. By ID the
// handler makes no difference.
func (s *Store) GetFor(ctx context.Context, idOrRef, handler string) (Info, error) {
	ctx = s.context(ctx)
	recs, err := s.records(ctx, s.isolation(handler))
	if err != nil {
		return Info{}, err
	}
	want := idOrRef
	if named, err := Normalize(idOrRef); err == nil {
		want = named
	}

	for _, r := range recs {
		if r.name == want {
			return s.info(r.sel, recs), r.err
		}
	}

	hex := strings.TrimPrefix(idOrRef, "sha256:")
	if !hexadecimal(hex) {
		return Info{}, fmt.Errorf("image %q: %w", idOrRef, errdefs.ErrNotFound)
	}

	if s.isolation(handler) == Process { // the ID may belong to an image pulled for Hyper-V isolation
		more, err := s.records(ctx, HyperV)
		if err != nil {
			return Info{}, err
		}
		recs = append(recs, more...)
	}

	var found *record
	for i, r := range recs {
		if !strings.HasPrefix(r.sel.config.Digest.Encoded(), hex) {
			continue
		}
		if found != nil && found.sel.config.Digest != r.sel.config.Digest {
			return Info{}, fmt.Errorf("image %q: the ID begins more than one: %w", idOrRef, errdefs.ErrInvalidArgument)
		}
		found = &recs[i]
	}

	if found == nil {
		return Info{}, fmt.Errorf("image %q: %w", idOrRef, errdefs.ErrNotFound)
	}

	return s.info(found.sel, recs), found.err
}

// GetAny is GetFor, but also finds images of other Windows builds that the machine has, so that Check refuses a
// container of such a build in Windows' own words, instead of a registry being asked for the image. Such an image is
// not listed.
func (s *Store) GetAny(ctx context.Context, idOrRef, handler string) (Info, error) {
	info, err := s.GetFor(ctx, idOrRef, handler)
	if !errdefs.IsNotFound(err) {
		return info, err
	}
	want := idOrRef
	if named, err := Normalize(idOrRef); err == nil {
		want = named
	}

	ctx = s.context(ctx)
	for _, iso := range []Isolation{HyperV, anyBuild} {
		recs, err := s.records(ctx, iso)
		if err != nil {
			return Info{}, err
		}
		for _, r := range recs {
			if r.name == want || r.sel.config.Digest.String() == idOrRef {
				return s.info(r.sel, recs), r.err
			}
		}
	}

	return Info{}, err
}

// Check returns an error if no container of a stored image can be made with a runtime handler: a *MismatchError if the
// build does not match. On Windows the error comes at the same point: containerd pulls a lone manifest without regard
// to its os.version (https://github.com/containerd/containerd/blob/v2.4.2/core/images/image.go, Manifest), and the Host
// Compute Service refuses the container. HostProcess containers run on any build and need no Check
// (https://github.com/containerd/containerd/issues/7431).
func (s *Store) Check(info Info, handler string) error {
	return checkPlatform(info.Spec.Platform, s.cfg.OSVersion, s.isolation(handler))
}

// List lists the images that the node has, by ID.
func (s *Store) List(ctx context.Context) ([]Info, error) {
	ctx = s.context(ctx)
	recs, err := s.records(ctx, Process)
	if err != nil {
		return nil, err
	}

	if slices.Contains(slices.Collect(maps.Values(s.cfg.Handlers)), HyperV) {
		more, err := s.records(ctx, HyperV)
		if err != nil {
			return nil, err
		}
		recs = append(recs, more...)
	}

	var out []Info
	seen := map[digest.Digest]bool{}
	for _, r := range recs {
		if seen[r.sel.config.Digest] || r.err != nil { // one bad image must not hide the others; Get returns its error
			continue
		}
		seen[r.sel.config.Digest] = true
		out = append(out, s.info(r.sel, recs))
	}

	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// Remove removes an image with all its references, as CRI's RemoveImage: no error if there is none. Containers made of
// it keep running. If nodes of other builds have manifests of an index, the reference to the index stays, but for this
// node's build the image is gone. The store of all builds (Config.OSVersion empty) removes it for all.
func (s *Store) Remove(ctx context.Context, idOrRef string) error {
	info, err := s.Get(ctx, idOrRef)
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}

	ctx = s.context(ctx)
	all, err := s.images.List(ctx)
	if err != nil {
		return fmt.Errorf("list images: %w", err)
	}

	names := append(append([]string{info.ID}, info.RepoDigests...), info.RepoTags...)
	var refs []string
	kept := false
	for _, img := range all {
		mine := slices.Contains(names, img.Name)
		others := slices.ContainsFunc(all, func(o images.Image) bool {
			return isID(o.Name) && o.Name != info.ID && o.Target.Digest == img.Target.Digest
		})
		switch {
		case s.cfg.OSVersion == "" && img.Target.Digest == info.Target.Digest, img.Name == info.ID, mine && !others:
			refs = append(refs, img.Name)
		case mine:
			kept = true
		}
	}

	if kept { // the configuration blob stays, so remove the label that says it is unpacked
		if err := s.forget(ctx, info.ID); err != nil {
			return err
		}
	}

	return s.deleteRefs(ctx, refs)
}

// forget removes from a configuration the labels that name the snapshot it is unpacked into.
func (s *Store) forget(ctx context.Context, id string) error {
	gcRef := "containerd.io/gc.ref.snapshot." + s.cfg.Snapshotter
	_, err := s.content.Update(ctx, content.Info{Digest: digest.Digest(id)}, "labels."+labelSnapshot, "labels."+gcRef)
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("take labels off image configuration %s: %w", id, err)
	}
	return nil
}

// isID reports whether a reference is the record of an image ID.
func isID(name string) bool { return strings.HasPrefix(name, "sha256:") }

func (s *Store) deleteRefs(ctx context.Context, refs []string) error {
	for i, ref := range refs {
		var opts []images.DeleteOpt
		if i == len(refs)-1 {
			opts = append(opts, images.SynchronousDelete()) // so that the space is free on return
		}
		if err := s.images.Delete(ctx, ref, opts...); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("delete image reference %q: %w", ref, err)
		}
	}
	return nil
}

// User splits the image's user as containerd does for CRI: a number is a uid, anything else a name
// (https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/server/images/image_status.go, getUserFromImage).
func (i Info) User() (uid *int64, name string) {
	user, _, _ := strings.Cut(i.Config.User, ":")
	if user == "" {
		return nil, ""
	}
	if n, err := strconv.ParseInt(user, 10, 64); err == nil {
		return &n, ""
	}
	return nil, user
}

// Usage is what images take on disk.
type Usage struct {
	// Path is the snapshotter's folder on this machine.
	Path string
	// Bytes and Inodes are the unpacked images; containers' writable layers are not counted.
	Bytes, Inodes uint64
	// Time is when it was measured.
	Time time.Time
}

// FsInfo measures what the unpacked images of all nodes of the machine take.
func (s *Store) FsInfo(ctx context.Context) (Usage, error) {
	ctx = s.context(ctx)
	u := Usage{Time: time.Now()}
	err := s.snapshots.Walk(ctx, func(ctx context.Context, info snapshots.Info) error {
		if info.Kind != snapshots.KindCommitted {
			return nil
		}

		use, err := s.snapshots.Usage(ctx, info.Name)
		if err != nil {
			if errdefs.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("measure snapshot %q: %w", info.Name, err)
		}
		u.Bytes += uint64(max(use.Size, 0))
		u.Inodes += uint64(max(use.Inodes, 0))

		return nil
	})
	if err != nil {
		return Usage{}, fmt.Errorf("measure images: %w", err)
	}

	u.Path, err = s.snapshotterPath(ctx)
	return u, err
}

func (s *Store) snapshotterPath(ctx context.Context) (string, error) {
	filter := "type==io.containerd.snapshotter.v1,id==" + s.cfg.Snapshotter
	resp, err := s.introspect.Plugins(ctx, filter)
	if err != nil {
		return "", fmt.Errorf("ask for snapshotter %q: %w", s.cfg.Snapshotter, err)
	}
	for _, p := range resp.Plugins {
		if root := p.Exports["root"]; root != "" {
			return root, nil
		}
	}
	return "", fmt.Errorf("snapshotter %q reports no folder: %w", s.cfg.Snapshotter, errdefs.ErrNotFound)
}

// record is one reference with the manifest that the node uses of it.
type record struct {
	name   string
	pinned bool
	target ocispec.Descriptor
	sel    selection
	err    error // why the image, although it is stored, cannot be used
}

// records returns all references whose manifest for the node is complete. The kubelet asks often, so this needs only
// two calls to containerd when nothing has changed.
func (s *Store) records(ctx context.Context, iso Isolation) ([]record, error) {
	all, err := s.images.List(ctx, fmt.Sprintf("labels.%q==%s", labelWindows, valueWindows))
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}

	unpacked := map[digest.Digest]string{}
	err = s.content.Walk(ctx, func(i content.Info) error {
		unpacked[i.Digest] = i.Labels[labelSnapshot]
		return nil
	}, fmt.Sprintf("labels.%q", labelSnapshot))
	if err != nil {
		return nil, fmt.Errorf("list image configurations: %w", err)
	}

	m := newMatcher(s.cfg.OSVersion, iso)
	var out []record
	for _, img := range all {
		r := record{
			name:   img.Name,
			pinned: img.Labels[labelPinned] == valuePinned,
			target: img.Target,
		}

		r.sel, err = s.known.find(knownKey{img.Target.Digest, iso},
			func() (selection, error) { return s.find(ctx, img.Target, m) })
		if errors.Is(err, errdefs.ErrNotFound) || unreadable(err) {
			continue // of another platform or build, or half removed; or only another node can read its build
		}
		if err != nil {
			return nil, fmt.Errorf("read image %q: %w", img.Name, err)
		}

		id := r.sel.config.Digest
		if unpacked[id] == "" || (isID(img.Name) && img.Name != id.String()) {
			continue // not complete, or the ID of another build's image
		}
		if iso == anyBuild {
			out = append(out, r)
			continue
		}

		if unpacked[id], err = s.ready(ctx, r.sel, unpacked[id]); err != nil {
			r.err = err
		}
		if snapshot := unpacked[id]; snapshot != noSnapshot && snapshot != notUnpacked {
			r.sel.snapshot = snapshot
		}
		out = append(out, r)
	}

	return out, nil
}

// ready returns the value of labelSnapshot for an image, given the present one. If the image is not unpacked yet and
// this store unpacks images, ready unpacks it.
func (s *Store) ready(ctx context.Context, sel selection, snapshot string) (string, error) {
	if snapshot != notUnpacked || s.cfg.SystemFiles == "" {
		return snapshot, nil
	}
	name, err := s.unpackLater(ctx, sel)
	if err != nil {
		return notUnpacked, err
	}
	return cmp.Or(name, noSnapshot), nil
}

// find reads from the content store the manifest that m picks from desc, and its configuration.
func (s *Store) find(ctx context.Context, desc ocispec.Descriptor, m matcher) (selection, error) {
	var sel selection
	manifest, err := images.Manifest(ctx, s.content, desc, m)
	if err != nil {
		return sel, err
	}

	sel.config = manifest.Config
	if err := readJSON(ctx, s.content, manifest.Config, &sel.spec); err != nil {
		return sel, err
	}
	if sel.spec.OS != "windows" {
		return sel, fmt.Errorf("image for %s: %w", sel.spec.OS, errdefs.ErrNotFound)
	}
	sel.layers, err = planLayers(manifest, sel.spec)
	return sel, err
}

func hexadecimal(s string) bool {
	return s != "" && !strings.ContainsFunc(s,
		func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
}

// info gathers what the references say of one image.
func (*Store) info(sel selection, recs []record) Info {
	i := Info{
		ID:        sel.config.Digest.String(),
		Spec:      sel.spec,
		Config:    sel.spec.Config,
		OSVersion: sel.spec.OSVersion,
		ChainID:   sel.snapshot,
	}

	i.Size = uint64(max(sel.config.Size, 0))
	for _, l := range sel.layers {
		if l.base != "" {
			i.SkippedLayers = append(i.SkippedLayers, l.diffID.String())
			continue
		}
		i.Size += uint64(max(l.blob.Size, 0))
	}

	for _, r := range recs {
		if r.sel.config.Digest != sel.config.Digest {
			continue
		}

		i.Target = r.target
		i.Pinned = i.Pinned || r.pinned
		parsed, err := reference.ParseAnyReference(r.name)
		if err != nil {
			continue // not one of ours
		}

		if _, ok := parsed.(reference.Canonical); ok {
			i.RepoDigests = append(i.RepoDigests, parsed.String())
		} else if _, ok := parsed.(reference.Tagged); ok {
			i.RepoTags = append(i.RepoTags, parsed.String())
		}
	}

	for _, l := range []*[]string{&i.RepoTags, &i.RepoDigests} {
		slices.Sort(*l)
		*l = slices.Compact(*l)
	}

	return i
}
