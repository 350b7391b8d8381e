// Package bases finds the images that builds begin with, and pushes those that they make.
//
//	FROM name ─▶ the store of single containers ─▶ what stands in for it ─▶ its registry
//
// Of an image in a registry only what is used is fetched: layers that are Windows' own are not, unless they are kept,
// and then they go from one registry to the other by a stream.
//
// It does not own the store (package image), what stands in for which image (package image), nor what a build does with
// a base (package dockerfile).
package bases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/windows/winver"
)

// Finder finds bases.
type Finder struct {
	// Saved writes an image of the machine's as an archive of an OCI layout. The error is errdefs.ErrNotFound if the
	// machine does not have it. nil: it has none.
	Saved func(ctx context.Context, ref string, to io.Writer) error
	// Scratch is a folder for archives. The caller removes it, when the bases are not used any more.
	Scratch string
	// Windows is the build for which a manifest is taken of an image for several; "": the usual one.
	Windows string
	// Real wants images with Windows' own layers, Pull those of a registry, whatever the machine has.
	Real, Pull bool
	// Registry says how registries are reached.
	Registry Registry
	// Say tells what a person wants to know; it may be nil.
	Say func(string)
}

// Registry says how registries are reached.
type Registry struct {
	// Keychain has the credentials; nil: those that `docker login` has kept.
	Keychain authn.Keychain
	// Transport is nil but in tests.
	Transport http.RoundTripper
	// Silence is how long a registry may say nothing; 0: 10 seconds.
	Silence time.Duration
}

// Find finds an image by its full reference, for windows or linux. The error is errdefs.ErrNotFound if there is none.
func (f *Finder) Find(ctx context.Context, ref, system string) (dockerfile.Base, error) {
	if f.mayBeSaved(system) {
		found, err := f.saved(ctx, ref)
		if err == nil || !errdefs.IsNotFound(err) {
			return found, err
		}
	}

	spec, files, standIn := image.StandIn(ref)
	standIn = standIn && system == imagebuild.Windows && !f.Real
	if standIn && !f.Pull && spec.Labels[image.LabelLacks] == "" {
		return dockerfile.Base{Spec: spec, Files: files}, nil
	}

	found, err := f.fetched(ctx, ref, system)
	if err == nil || ctx.Err() != nil {
		return found, err
	}

	if !standIn || !unreachable(err) {
		return dockerfile.Base{}, f.explained(ref, system, err)
	}

	f.sayLacks(ref, spec.Labels[image.LabelLacks])
	return dockerfile.Base{Spec: spec, Files: files}, nil
}

// mayBeSaved reports whether an image is looked for among those that are saved.
func (f *Finder) mayBeSaved(system string) bool {
	return f.Saved != nil && !f.Real && !f.Pull && system == imagebuild.Windows
}

// sayLacks says what an image lacks that stands in for one of a registry that cannot be reached; "" is nothing.
func (f *Finder) sayLacks(ref, lacks string) {
	if lacks != "" && f.Say != nil {
		f.Say(fmt.Sprintf("the registry of %s cannot be reached, so an image without %s stands in for it", ref, lacks))
	}
}

// fetched finds an image in its registry.
func (f *Finder) fetched(ctx context.Context, ref, system string) (dockerfile.Base, error) {
	named, err := name.ParseReference(ref)
	if err != nil {
		return dockerfile.Base{}, fmt.Errorf("%w: %w", err, errdefs.ErrInvalidArgument)
	}
	found, err := remote.Get(named, f.Registry.options(ctx)...)
	if err != nil {
		return dockerfile.Base{}, err
	}

	if !found.MediaType.IsIndex() {
		img, err := found.Image()
		if err != nil {
			return dockerfile.Base{}, err
		}
		return baseOf(img)
	}

	index, err := found.ImageIndex()
	if err != nil {
		return dockerfile.Base{}, err
	}
	return f.chosen(index, system)
}

// chosen takes one manifest of an index.
func (f *Finder) chosen(index v1.ImageIndex, system string) (dockerfile.Base, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return dockerfile.Base{}, err
	}

	var best *v1.Descriptor
	for i, d := range manifest.Manifests {
		fits := d.Platform != nil && d.Platform.OS == system && d.Platform.Architecture == "amd64"
		if !fits || !d.MediaType.IsImage() {
			continue
		}
		if best == nil || f.rank(d) > f.rank(*best) || (f.rank(d) == f.rank(*best) && f.newer(d, *best)) {
			best = &manifest.Manifests[i]
		}
	}
	if best == nil {
		return dockerfile.Base{}, fmt.Errorf("it has nothing for %s/amd64: %w", system, errdefs.ErrNotFound)
	}

	img, err := index.Image(best.Digest)
	if err != nil {
		return dockerfile.Base{}, err
	}
	return baseOf(img)
}

// rank is 1 for a manifest of the wanted build of Windows.
func (f *Finder) rank(d v1.Descriptor) int {
	want, err := winver.Lookup(f.windows())
	if err != nil {
		return 0
	}
	if v, err := winver.ParseVersion(d.Platform.OSVersion); err == nil && v.Build == want.Version.Build {
		return 1
	}
	return 0
}

func (f *Finder) windows() string {
	if f.Windows == "" {
		return winver.Default()
	}
	return f.Windows
}

// newer compares two manifests by their builds.
func (*Finder) newer(a, b v1.Descriptor) bool {
	va, errA := winver.ParseVersion(a.Platform.OSVersion)
	vb, errB := winver.ParseVersion(b.Platform.OSVersion)
	if errA != nil || errB != nil {
		return errA == nil
	}
	return va.Build > vb.Build || (va.Build == vb.Build && va.Revision > vb.Revision)
}

// baseOf makes a base of an image.
func baseOf(img v1.Image) (dockerfile.Base, error) {
	windows, err := image.WindowsLayers(img)
	return dockerfile.Base{Image: img, Windows: windows}, err
}

// explained says what to do about an image that is not found.
func (f *Finder) explained(ref, system string, err error) error {
	if _, answered := errors.AsType[*transport.Error](err); !answered && !unreachable(err) && !errdefs.IsNotFound(err) {
		return fmt.Errorf("get %s: %w", ref, err)
	}

	what := "pull the image, or load it by `mullion image load --run`"
	switch {
	case system == imagebuild.Linux:
		what = "an image for Linux is only looked for in its registry"
	case f.Real:
		what = "--base real needs the image of its registry"
	}

	if !unreachable(err) {
		err = refusedBy(err)
	}
	return fmt.Errorf("there is no image %s for %s: %w; %s: %w", ref, system, err, what, errdefs.ErrNotFound)
}
