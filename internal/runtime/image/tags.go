package image

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
)

// Tag is a named image with all the Windows builds that the machine has of it.
type Tag struct {
	// Ref is the reference in full form.
	Ref string
	// Digest is that of the index or manifest that Ref points at.
	Digest string
	// Size is the compressed size in bytes of all builds together, shared layers counted once.
	Size uint64
	// Images are the builds, oldest first.
	Images []LoadedImage
	// Pinned images are not removed by the kubelet's garbage collection.
	Pinned bool
}

// Tags lists the tagged Windows images of the machine, whatever the store's node, by reference. It is what
// `mullion image ls` prints.
func (s *Store) Tags(ctx context.Context) ([]Tag, error) {
	ctx = s.context(ctx)
	all, err := s.images.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}

	var out []Tag
	for _, img := range all {
		named, err := reference.ParseNormalizedNamed(img.Name)
		if _, tagged := named.(reference.Tagged); err != nil || !tagged || isID(img.Name) {
			continue
		}

		tag, err := s.tag(ctx, img)
		if errdefs.IsNotFound(err) || unreadable(err) || (len(tag.Images) == 0 && err == nil) {
			continue // for Linux, or half removed
		}
		if err != nil {
			return nil, fmt.Errorf("read image %q: %w", img.Name, err)
		}
		out = append(out, tag)
	}

	slices.SortFunc(out, func(a, b Tag) int { return strings.Compare(a.Ref, b.Ref) })
	return out, nil
}

func (s *Store) tag(ctx context.Context, img images.Image) (Tag, error) {
	tag := Tag{
		Ref:    img.Name,
		Digest: img.Target.Digest.String(),
		Pinned: img.Labels[labelPinned] == valuePinned,
	}

	found, _, err := s.windowsManifests(ctx, img.Target)
	if err != nil {
		return tag, err
	}

	counted := map[digest.Digest]bool{}
	for _, sel := range found {
		info, err := s.content.Info(ctx, sel.config.Digest)
		if err != nil {
			return tag, err
		}
		if info.Labels[labelSnapshot] == "" {
			continue // fetched, but not (or no longer) unpacked
		}

		tag.Images = append(tag.Images, LoadedImage{ID: sel.config.Digest.String(), OSVersion: sel.spec.OSVersion})
		for _, l := range sel.own() {
			if !counted[l.blob.Digest] {
				counted[l.blob.Digest] = true
				tag.Size += uint64(max(l.blob.Size, 0))
			}
		}

		tag.Size += uint64(max(sel.config.Size, 0))
	}

	slices.SortFunc(tag.Images, func(a, b LoadedImage) int { return strings.Compare(a.OSVersion, b.OSVersion) })
	return tag, nil
}

// Untag takes a reference from an image that has others, for all its builds, and returns the others. Of one that has no
// other, and by an ID, it takes nothing and returns none. As with Docker, digests of the repository go with its last
// tag.
func (s *Store) Untag(ctx context.Context, ref string) (others []string, err error) {
	info, err := s.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	ref, err = Normalize(ref)
	if err != nil || !slices.Contains(info.RepoTags, ref) {
		return nil, nil //nolint:nilerr // it is an ID
	}

	others = slices.DeleteFunc(slices.Clone(info.RepoTags), func(tag string) bool { return tag == ref })
	if len(others) == 0 {
		return nil, nil
	}

	repository := func(of string) string { return of[:strings.LastIndexAny(of, ":@")] }
	own := repository(ref)
	gone := []string{ref}
	if !slices.ContainsFunc(others, func(tag string) bool { return repository(tag) == own }) {
		for _, digest := range info.RepoDigests {
			if name, _, _ := strings.Cut(digest, "@"); name == own {
				gone = append(gone, digest)
			}
		}
	}
	return others, s.deleteRefs(s.context(ctx), gone)
}
