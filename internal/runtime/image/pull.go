package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/errdefs"
	"github.com/containerd/platforms"
	"github.com/distribution/reference"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
)

// leaseTime bounds how long containerd's garbage collector spares the blobs of a killed pull.
const leaseTime = 24 * time.Hour

// parallelLayers is how many layers are fetched at once, as the CRI plugin's max_concurrent_downloads
// (https://github.com/containerd/containerd/blob/v2.4.2/docs/cri/config.md).
const parallelLayers = 3

// Request is a pull with all its options.
type Request struct {
	// Ref is the reference, short or full, by tag or digest.
	Ref string
	// Auth may be nil.
	Auth *Auth
	// Handler is the CRI runtime handler that the image is for; it decides the isolation.
	Handler string
	// Progress, if set, is called as the pull goes on, from several goroutines.
	Progress func(Progress)
}

// Progress is one step of a pull.
type Progress struct {
	// Step is "resolve", "fetch", "skip" (a base layer), "unpack", "check" or "done".
	Step string
	// Digest is the blob that the step is about; empty for "resolve" and "done".
	Digest string
	// Done and Total are bytes; zero when the step has no size.
	Done, Total int64
	// Note says why, for "skip".
	Note string
}

// Pull makes ref present on the node and returns its image. An image that was loaded with LoadOptions.Local is returned
// without asking a registry. Otherwise Pull fetches the manifest for the node, and only those of its blobs that are
// missing; a failed pull leaves nothing behind.
//
// An index without a manifest for the node's build, and an image that is not for windows/amd64, are refused here. A
// lone manifest of another Windows build is pulled, as containerd on Windows does, and refused by Check.
//
// Where a registry cannot be reached, another image stands in for some of Microsoft's: see standIn.
func (s *Store) Pull(ctx context.Context, ref string, auth *Auth, handler string) (Info, error) {
	return s.PullRequest(ctx, Request{
		Ref:     ref,
		Auth:    auth,
		Handler: handler,
	})
}

// PullRequest is Pull with all options.
func (s *Store) PullRequest(ctx context.Context, req Request) (Info, error) {
	ctx = s.context(ctx)
	ref, err := Normalize(req.Ref)
	if err != nil {
		return Info{}, err
	}
	if req.Progress == nil {
		req.Progress = func(Progress) {}
	}

	if info, ok, err := s.local(ctx, ref, req.Handler); err != nil || ok {
		return info, err
	}
	spec, files, replaceable := StandIn(ref)
	silence := time.Duration(0)
	if replaceable {
		silence = s.cfg.Registries.silence()
	}

	info, err := s.fromRegistry(ctx, ref, req, silence)
	if ctx.Err() == nil && unreachable(err) {
		if replaceable {
			info, err = s.makeStandIn(ctx, spec, files, req)
		} else {
			err = fmt.Errorf("%w: %s", err, noStandIn(ref))
		}
	}
	if err != nil {
		if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) { // gRPC says "EOF" and the like
			err = fmt.Errorf("%w: %w", ended, err)
		}
		// The words of the event that a user sees are those of containerd's CRI plugin.
		return Info{}, fmt.Errorf("failed to pull and unpack image %q: %w", ref, diskFull(err)) //nolint:revive // containerd's own words
	}

	req.Progress(Progress{Step: "done"})
	return info, nil
}

// fromRegistry fetches an image's manifest for the node, and the blobs that are missing. A registry that says nothing
// of the name for as long as silence is given up with errSilent; 0: it is waited for.
func (s *Store) fromRegistry(ctx context.Context, ref string, req Request, silence time.Duration) (Info, error) {
	var found selection
	err := s.inLease(ctx, func(ctx context.Context) error {
		req.Progress(Progress{Step: "resolve"})
		resolver := s.cfg.Registries.resolver(ctx, req.Auth)
		name, desc, err := resolve(ctx, resolver, ref, silence)
		if err != nil {
			return fmt.Errorf("failed to resolve reference %q: %w", ref, err) //nolint:revive // containerd's own words
		}

		fetcher, err := resolver.Fetcher(ctx, name)
		if err != nil {
			return fmt.Errorf("get fetcher for %q: %w", name, err)
		}

		f := &fetch{
			content:  s.content,
			fetcher:  fetcher,
			progress: req.Progress,
		}
		defer f.abort(context.WithoutCancel(ctx))

		m := newMatcher(s.cfg.OSVersion, s.isolation(req.Handler))
		if found, err = f.image(ctx, desc, s.pick(m, req.Handler)); err != nil {
			return err
		}
		if err := s.finish(ctx, found, req.Progress); err != nil {
			return err
		}

		return s.record(ctx, ref, desc, found.config.Digest.String(), nil)
	})
	if err != nil {
		return Info{}, err
	}

	return s.Get(ctx, found.config.Digest.String())
}

// resolve asks a registry for what a name stands for.
func resolve(ctx context.Context, r remotes.Resolver, ref string, silence time.Duration) (string, ocispec.Descriptor,
	error,
) {
	if silence == 0 {
		return r.Resolve(ctx, ref)
	}
	bounded, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	name, desc, err := r.Resolve(bounded, ref)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w for %s", errSilent, silence)
	}
	return name, desc, err
}

// local finds an image that was loaded with LoadOptions.Local.
func (s *Store) local(ctx context.Context, ref, handler string) (info Info, ok bool, err error) {
	img, err := s.images.Get(ctx, ref)
	if errdefs.IsNotFound(err) || (err == nil && img.Labels[labelLocal] != valueLocal) {
		return Info{}, false, nil
	}
	if err == nil {
		info, err = s.GetFor(ctx, ref, handler)
	}
	if errdefs.IsNotFound(err) { // not for this node's build; the registry may have one
		return Info{}, false, nil
	}
	return info, err == nil, err
}

// inLease runs do with a lease, which keeps the garbage collector from what do makes. If do returns an error, what it
// made is collected before inLease returns.
func (s *Store) inLease(ctx context.Context, do func(context.Context) error) error {
	l, err := s.leases.Create(ctx, leases.WithRandomID(), leases.WithExpiration(leaseTime))
	if err != nil {
		return fmt.Errorf("create lease: %w", err)
	}
	err = do(leases.WithLease(ctx, l.ID))
	var opts []leases.DeleteOpt
	if err != nil {
		opts = append(opts, leases.SynchronousDelete)
	}

	if delErr := s.leases.Delete(context.WithoutCancel(ctx), l, opts...); err == nil && delErr != nil {
		err = fmt.Errorf("delete lease %q: %w", l.ID, delErr)
	}

	return err
}

// record makes the references by which the image is found: its name, its digest and its ID.
func (s *Store) record(ctx context.Context, ref string, target ocispec.Descriptor, id string,
	more map[string]string,
) error {
	labels := map[string]string{labelWindows: valueWindows}
	maps.Copy(labels, more)
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return fmt.Errorf("parse image reference %q: %w", ref, err)
	}

	names := []string{id}
	if _, ok := named.(reference.NamedTagged); ok {
		names = append(names, named.String())
	}
	if _, ok := named.(reference.Canonical); ok {
		names = append(names, named.String())
	} else {
		names = append(names, named.Name()+"@"+target.Digest.String())
	}

	target.Annotations = nil
	target.URLs = nil
	target.Data = nil
	target.Platform = nil
	slices.Sort(names)

	for _, name := range slices.Compact(names) {
		if err := s.recordOne(ctx, images.Image{
			Name:   name,
			Target: target,
			Labels: labels,
		}); err != nil {
			return fmt.Errorf("record image reference %q: %w", name, err)
		}
	}

	return nil
}

func (s *Store) recordOne(ctx context.Context, img images.Image) error {
	_, err := s.images.Create(ctx, img)
	if !errdefs.IsAlreadyExists(err) {
		return err
	}
	paths := []string{"target"}
	for k := range img.Labels {
		paths = append(paths, "labels."+k)
	}

	if _, err = s.images.Update(ctx, img, paths...); errdefs.IsNotFound(err) { // removed in between
		_, err = s.images.Create(ctx, img)
	}

	return err
}

// selection is the part of an image that a node takes.
type selection struct {
	manifest, config ocispec.Descriptor
	spec             ocispec.Image
	layers           []layer
	snapshot         string // the snapshot that it is unpacked into; empty: none yet
}

// own returns the layers that are not Windows' base.
func (s selection) own() []layer {
	return slices.DeleteFunc(slices.Clone(s.layers), func(l layer) bool { return l.base != "" })
}

// picker chooses among the manifests of an index, and judges the platform that a configuration names.
type picker struct {
	index func([]ocispec.Descriptor) (ocispec.Descriptor, error)
	// config returns an error unless platform p of a configuration fits. byIndex says that its manifest comes from an
	// index that does not name the platform.
	config func(p ocispec.Platform, byIndex bool) error
}

// pick returns the node's picker.
func (s *Store) pick(m matcher, handler string) picker {
	iso := s.isolation(handler)

	return picker{
		index: func(offered []ocispec.Descriptor) (ocispec.Descriptor, error) {
			var all []ocispec.Platform
			var best *ocispec.Descriptor
			for i, d := range offered {
				if d.Platform == nil {
					continue
				}
				all = append(all, *d.Platform)
				if m.Match(*d.Platform) && (best == nil || m.Less(*d.Platform, *best.Platform)) {
					best = &offered[i]
				}
			}

			if best == nil { // as containerd: a manifest without a platform is a last resort
				if i := slices.IndexFunc(offered,
					func(d ocispec.Descriptor) bool { return d.Platform == nil }); i >= 0 {
					return offered[i], nil
				}
				return ocispec.Descriptor{}, noMatch(all, s.cfg.OSVersion, iso)
			}

			return *best, nil
		},
		config: func(p ocispec.Platform, byIndex bool) error {
			p = platforms.Normalize(p)
			if p.OS != "windows" || p.Architecture != "amd64" || (byIndex && !m.Match(p)) {
				return noMatch([]ocispec.Platform{p}, s.cfg.OSVersion, iso)
			}
			return nil
		},
	}
}

// fetch brings an image's blobs from a registry into the content store.
type fetch struct {
	content  content.Store
	fetcher  remotes.Fetcher
	progress func(Progress)
	begun    []ocispec.Descriptor
}

// image fetches the manifest that p picks from desc, its configuration and its layers, base layers left out.
func (f *fetch) image(ctx context.Context, desc ocispec.Descriptor, p picker) (selection, error) {
	var sel selection
	var err error
	if sel.manifest, err = f.manifest(ctx, desc, p); err != nil {
		return sel, err
	}

	var m ocispec.Manifest
	if err := readJSON(ctx, f.content, sel.manifest, &m); err != nil {
		return sel, err
	}
	m.Config.URLs = nil
	if err := f.json(ctx, m.Config); err != nil {
		return sel, err
	}

	sel.config = m.Config
	if err := readJSON(ctx, f.content, m.Config, &sel.spec); err != nil {
		return sel, err
	}
	byIndex := sel.manifest.Digest != desc.Digest && sel.manifest.Platform == nil
	if err := p.config(sel.spec.Platform, byIndex); err != nil {
		return sel, err
	}

	if sel.layers, err = planLayers(m, sel.spec); err != nil {
		return sel, err
	}
	if err := f.labelChildren(ctx, sel.manifest); err != nil {
		return sel, err
	}

	return sel, f.layers(ctx, sel.layers)
}

// manifest walks down from desc through indexes to the manifest that p picks.
func (f *fetch) manifest(ctx context.Context, desc ocispec.Descriptor, p picker) (ocispec.Descriptor, error) {
	for range 8 { // an index in an index is legal, an endless one is not
		desc.URLs = nil
		if err := f.json(ctx, desc); err != nil {
			return desc, err
		}
		if images.IsManifestType(desc.MediaType) {
			return desc, nil
		}

		if !images.IsIndexType(desc.MediaType) {
			return desc, fmt.Errorf("unexpected media type %v for %v: %w", desc.MediaType, desc.Digest,
				errdefs.ErrNotFound)
		}
		if err := f.labelChildren(ctx, desc); err != nil {
			return desc, err
		}

		var index ocispec.Index
		if err := readJSON(ctx, f.content, desc, &index); err != nil {
			return desc, err
		}
		next, err := p.index(index.Manifests)
		if err != nil {
			return desc, err
		}
		desc = next
	}

	return desc, fmt.Errorf("image index %v is nested too deeply: %w", desc.Digest, errdefs.ErrInvalidArgument)
}

func (f *fetch) layers(ctx context.Context, layers []layer) error {
	for _, l := range layers {
		if l.base != "" {
			f.progress(Progress{
				Step:   "skip",
				Digest: l.blob.Digest.String(),
				Total:  l.blob.Size,
				Note:   l.base,
			})
			continue
		}

		f.begun = append(f.begun, l.blob)
	}

	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelLayers)
	for _, l := range layers {
		if l.base == "" {
			group.Go(func() error { return f.fetchBlob(ctx, l.blob) })
		}
	}

	return group.Wait()
}

// json fetches a blob that will be read into memory: a manifest, an index, a configuration.
func (f *fetch) json(ctx context.Context, desc ocispec.Descriptor) error {
	if err := checkJSONSize(desc.Digest, desc.Size); err != nil {
		return err
	}
	f.begun = append(f.begun, desc)
	return f.fetchBlob(ctx, desc)
}

func (f *fetch) fetchBlob(ctx context.Context, desc ocispec.Descriptor) error {
	_, err := remotes.FetchHandler(f.content, counter{f.fetcher, f.progress})(ctx, desc)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", desc.Digest, err)
	}
	f.progress(Progress{
		Step:   "fetch",
		Digest: desc.Digest.String(),
		Done:   desc.Size,
		Total:  desc.Size,
	})
	return nil
}

// labelChildren makes the garbage collector keep what desc refers to for as long as desc is kept.
func (f *fetch) labelChildren(ctx context.Context, desc ocispec.Descriptor) error {
	handler := images.SetChildrenLabels(f.content, images.ChildrenHandler(f.content))
	if _, err := handler(ctx, desc); err != nil {
		return fmt.Errorf("label children of %s: %w", desc.Digest, err)
	}
	return nil
}

// abort drops half-fetched blobs. Complete blobs are not affected, so it may be called after success too.
func (f *fetch) abort(ctx context.Context) {
	for _, d := range f.begun {
		// usually the error is "not found"; a real fault shows in the next write
		_ = f.content.Abort(ctx, remotes.MakeRefKey(ctx, d))
	}
}

func readJSON(ctx context.Context, store content.Provider, desc ocispec.Descriptor, v any) error {
	raw, err := readSmall(ctx, store, desc)
	if err != nil {
		return fmt.Errorf("read blob %s: %w", desc.Digest, err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("parse blob %s: %w: %w", desc.Digest, errMalformed, err)
	}
	return nil
}

// counter reports how much of a blob has arrived.
type counter struct {
	remotes.Fetcher
	progress func(Progress)
}

// Fetch fetches desc.
func (c counter) Fetch(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
	rc, err := c.Fetcher.Fetch(ctx, desc)
	if err != nil {
		return nil, err
	}
	return &countingReader{
		ReadCloser: rc,
		desc:       desc,
		progress:   c.progress,
	}, nil
}

// errLonger says that a registry sends more than the image says that there is.
var errLonger = errors.New("the registry sends more than the manifest says")

type countingReader struct {
	io.ReadCloser
	desc     ocispec.Descriptor
	done     atomic.Int64
	progress func(Progress)
}

// Read reads and reports, up to the blob's size.
func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if r.done.Load()+int64(n) > r.desc.Size { // or it would fill the disk before its size is looked at
		return 0, fmt.Errorf("%w: %d bytes of blob %s", errLonger, r.desc.Size, r.desc.Digest)
	}
	if n > 0 {
		r.progress(Progress{
			Step:   "fetch",
			Digest: r.desc.Digest.String(),
			Done:   r.done.Add(int64(n)),
			Total:  r.desc.Size,
		})
	}
	return n, err
}

// Seek lets an interrupted fetch go on where it ended.
func (r *countingReader) Seek(offset int64, whence int) (int64, error) {
	seeker, ok := r.ReadCloser.(io.Seeker)
	if !ok {
		return 0, fmt.Errorf("seek in blob %s: %w", r.desc.Digest, errdefs.ErrNotImplemented)
	}
	n, err := seeker.Seek(offset, whence)
	if err == nil {
		r.done.Store(n)
	}
	return n, err
}
