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

// Builds lists the builds of all images of the machine, whatever the store's node: of an index, which List has once,
// each that is complete. References are those of the whole index.
func (s *Store) Builds(ctx context.Context) ([]Info, error) {
	ctx = s.context(ctx)
	all, err := s.images.List(ctx, fmt.Sprintf("labels.%q==%s", labelWindows, valueWindows))
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}

	var recs []record
	for _, img := range all {
		found, _, err := s.windowsManifests(ctx, img.Target)
		if errdefs.IsNotFound(err) || unreadable(err) {
			continue // half removed
		}
		if err != nil {
			return nil, fmt.Errorf("read image %q: %w", img.Name, err)
		}
		for _, sel := range found {
			recs = append(recs, record{
				name:   img.Name,
				pinned: img.Labels[labelPinned] == valuePinned,
				target: img.Target,
				sel:    sel,
			})
		}
	}

	var out []Info
	seen := map[digest.Digest]bool{}
	for _, r := range recs {
		id := r.sel.config.Digest
		if seen[id] {
			continue
		}
		seen[id] = true
		switch known, err := s.content.Info(ctx, id); {
		case errdefs.IsNotFound(err), err == nil && known.Labels[labelSnapshot] == "":
			continue // removed, fetched but not unpacked
		case err != nil:
			return nil, err
		}
		out = append(out, s.info(r.sel, recs))
	}

	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.ID, b.ID) })
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

// Untag takes a reference, a tag or a digest, from an image that has others, for all its builds, and returns the
// others. Of one that has no other, and by an ID, it takes nothing and returns none. As with Docker, digests of the
// repository go with its last tag (https://github.com/moby/moby/blob/v28.5.2/daemon/images/image_delete.go, ImageDelete).
func (s *Store) Untag(ctx context.Context, ref string) (others []string, err error) {
	info, err := s.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(info.RepoTags, info.RepoDigests)
	ref, err = Normalize(ref)
	if err != nil || !slices.Contains(all, ref) {
		return nil, nil //nolint:nilerr // it is an ID
	}

	gone := goneWith(ref, info)
	others = slices.DeleteFunc(all, func(name string) bool { return slices.Contains(gone, name) })
	if len(others) == 0 {
		return nil, nil
	}
	return others, s.deleteRefs(s.context(ctx), gone)
}

// goneWith returns a reference of an image with those that go with it.
func goneWith(ref string, info Info) (gone []string) {
	gone = []string{ref}
	own, isTag := repositoryOf(ref)
	lastTag := isTag && !slices.ContainsFunc(info.RepoTags, func(tag string) bool {
		repository, _ := repositoryOf(tag)
		return tag != ref && repository == own
	})
	if !lastTag {
		return gone
	}

	for _, digest := range info.RepoDigests {
		if repository, _ := repositoryOf(digest); repository == own {
			gone = append(gone, digest)
		}
	}
	return gone
}

// repositoryOf returns the repository of a tag or of a digest, in full form, and whether it is a tag.
func repositoryOf(ref string) (repository string, isTag bool) {
	if repository, _, isDigest := strings.Cut(ref, "@"); isDigest {
		return repository, false
	}
	return ref[:strings.LastIndexByte(ref, ':')], true
}

// Single reports whether an image has one tag at the most and all its references are of one repository. Of another one
// Docker wants to be told by force that its ID means all of them
// (https://github.com/moby/moby/blob/v28.5.2/daemon/images/image_delete.go, isSingleReference).
func (i Info) Single() bool {
	repositories := map[string]bool{}
	for _, ref := range slices.Concat(i.RepoTags, i.RepoDigests) {
		repository, _ := repositoryOf(ref)
		repositories[repository] = true
	}
	return len(i.RepoTags) <= 1 && len(repositories) <= 1
}
