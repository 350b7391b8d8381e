package image

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/images/archive"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// LoadOptions are the choices of Load.
type LoadOptions struct {
	// Name is the reference for an image that the archive gives none.
	Name string
	// Unpinned leaves the image to the kubelet's garbage collection. Otherwise a loaded image is pinned, as it may be
	// impossible to pull it again.
	Unpinned bool
	// Local says that the image exists on this machine only. Pull returns it without asking a registry, so that a pod
	// with imagePullPolicy Always can use it.
	Local bool
	// Progress, if set, is called as each layer is unpacked or checked.
	Progress func(Progress)
}

// Loaded is one image that Load has stored.
type Loaded struct {
	// Ref is its reference.
	Ref string
	// Images are its Windows manifests, one for each build in the archive.
	Images []LoadedImage
}

// LoadedImage is one Windows manifest of a loaded image.
type LoadedImage struct {
	// ID is the image ID on a node of that build.
	ID string
	// OSVersion is the build it is for.
	OSVersion string
}

// Load stores the images of a tar archive (`docker save`, or an OCI image layout) for every Windows build in the
// archive, so that every Windows node of the machine has them. Base layers may be missing from an OCI layout. Images
// without anything for windows/amd64 are refused. A failed load leaves nothing behind.
func (s *Store) Load(ctx context.Context, r io.Reader, opts LoadOptions) ([]Loaded, error) {
	ctx = s.context(ctx)
	if opts.Progress == nil {
		opts.Progress = func(Progress) {}
	}

	var out []Loaded
	err := s.inLease(ctx, func(ctx context.Context) error {
		desc, err := archive.ImportIndex(ctx, s.content, r)
		if err != nil {
			return fmt.Errorf("read archive: %w", err)
		}
		var index ocispec.Index
		if err := readJSON(ctx, s.content, desc, &index); err != nil {
			return err
		}

		todo := make([]loadItem, len(index.Manifests))
		for i, d := range index.Manifests {
			if todo[i], err = s.loadItem(ctx, d, opts); err != nil {
				return err
			}
		}

		for _, item := range todo { // references last: without one, an error leaves nothing behind
			l, err := s.recordLoaded(ctx, item, opts)
			if err != nil {
				return err
			}
			out = append(out, l)
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load image archive: %w", diskFull(err))
	}

	return out, nil
}

// labels returns what the references of a loaded image carry.
func (o LoadOptions) labels() map[string]string {
	labels := map[string]string{}
	if !o.Unpinned {
		labels[labelPinned] = valuePinned
	}
	if o.Local {
		labels[labelLocal] = valueLocal
	}
	return labels
}

// loadItem is one image of an archive that has been unpacked.
type loadItem struct {
	ref    string
	target ocispec.Descriptor
	builds []selection
}

func (s *Store) loadItem(ctx context.Context, d ocispec.Descriptor, opts LoadOptions) (loadItem, error) {
	name := d.Annotations[images.AnnotationImageName]
	if name == "" {
		name = d.Annotations[ocispec.AnnotationRefName]
	}
	if name == "" {
		name = opts.Name
	}
	if name == "" {
		return loadItem{}, fmt.Errorf("image %s in the archive has no name, give one by --tag: %w", d.Digest,
			errdefs.ErrInvalidArgument)
	}

	ref, err := Normalize(name)
	if err != nil {
		return loadItem{}, err
	}
	item := loadItem{ref: ref, target: d}
	var offered []ocispec.Platform
	if item.builds, offered, err = s.windowsManifests(ctx, d); err != nil {
		return item, err
	}

	if err := s.labelAll(ctx, d); err != nil {
		return item, err
	}
	if len(item.builds) == 0 {
		return item, fmt.Errorf("image %q: %w", ref, noMatch(offered, s.cfg.OSVersion, Process))
	}

	for _, sel := range item.builds {
		if err := s.finish(ctx, sel, opts.Progress); err != nil {
			return item, fmt.Errorf("image %q: %w", ref, err)
		}
	}

	return item, nil
}

func (s *Store) recordLoaded(ctx context.Context, item loadItem, opts LoadOptions) (Loaded, error) {
	l := Loaded{Ref: item.ref}
	for _, sel := range item.builds {
		id := sel.config.Digest.String()
		if err := s.record(ctx, item.ref, item.target, id, opts.labels()); err != nil {
			return l, err
		}
		l.Images = append(l.Images, LoadedImage{ID: id, OSVersion: sel.spec.OSVersion})
	}
	return l, nil
}

// labelAll labels desc and all blobs below it that are stored, so that the garbage collector keeps them.
func (s *Store) labelAll(ctx context.Context, desc ocispec.Descriptor) error {
	seen := map[digest.Digest]bool{}
	handler := images.SetChildrenLabels(s.content,
		func(ctx context.Context, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
			if seen[d.Digest] { // indexes that name each other often are not walked as often
				return nil, images.ErrSkipDesc
			}
			seen[d.Digest] = true
			children, err := images.Children(ctx, s.content, d)
			if errdefs.IsNotFound(err) {
				return nil, images.ErrSkipDesc
			}

			return children, err
		})

	if err := images.Walk(ctx, handler, desc); err != nil {
		return fmt.Errorf("label children of %s: %w", desc.Digest, err)
	}

	return nil
}

// windowsManifests finds the windows/amd64 manifests that desc leads to and whose content is there, each once. offered
// are the platforms that were seen.
func (s *Store) windowsManifests(ctx context.Context, desc ocispec.Descriptor) (found []selection,
	offered []ocispec.Platform, err error,
) {
	w := manifestWalk{store: s, seen: map[digest.Digest]bool{}}
	err = w.walk(ctx, desc, 0)
	return w.found, w.offered, err
}

// manifestWalk looks for manifests below an index.
type manifestWalk struct {
	store   *Store
	seen    map[digest.Digest]bool
	found   []selection
	offered []ocispec.Platform
}

func (w *manifestWalk) walk(ctx context.Context, desc ocispec.Descriptor, depth int) error {
	if w.seen[desc.Digest] {
		return nil
	}

	w.seen[desc.Digest] = true
	switch {
	case depth > 8:
		return fmt.Errorf("image index %v is nested too deeply: %w", desc.Digest, errdefs.ErrInvalidArgument)
	case images.IsIndexType(desc.MediaType):
		var index ocispec.Index
		if err := readJSON(ctx, w.store.content, desc, &index); err != nil {
			return err
		}

		for _, d := range index.Manifests {
			if _, err := w.store.content.Info(ctx, d.Digest); errdefs.IsNotFound(err) {
				continue // `docker save --platform` and others leave manifests out
			}
			if err := w.walk(ctx, d, depth+1); err != nil {
				return err
			}
		}

	case images.IsManifestType(desc.MediaType):
		sel, err := w.store.manifest(ctx, desc)
		if err != nil {
			return err
		}
		w.offered = append(w.offered, sel.spec.Platform)
		if sel.spec.OS == "windows" && sel.spec.Architecture == "amd64" {
			w.found = append(w.found, sel)
		}
	}

	return nil
}

// manifest reads one manifest that is in the content store.
func (s *Store) manifest(ctx context.Context, desc ocispec.Descriptor) (selection, error) {
	sel := selection{manifest: desc}
	var m ocispec.Manifest
	if err := readJSON(ctx, s.content, desc, &m); err != nil {
		return sel, err
	}

	sel.config = m.Config
	if !images.IsConfigType(m.Config.MediaType) { // an attestation or another artifact
		return sel, nil
	}
	if err := readJSON(ctx, s.content, m.Config, &sel.spec); err != nil {
		return sel, err
	}

	others := slices.ContainsFunc(m.Layers, func(l ocispec.Descriptor) bool { return !images.IsLayerType(l.MediaType) })
	if others && sel.spec.OS != "windows" {
		return sel, nil
	}
	var err error
	sel.layers, err = planLayers(m, sel.spec)
	return sel, err
}
