// Package imagebuild makes a Windows image, or a Linux one, from a folder of files, on Linux and without Windows.
//
// It owns the form of a Windows image: an OCI index with one manifest for each Windows build, each with os "windows",
// architecture "amd64" and os.version, and layers as hcsshim writes them (Files/…, Hives/…, MSWINDOWS.* records with
// attributes and security descriptors). The same folder and description give the same digests, whatever the files'
// times and owners. It does not own storing the image (package image) or the command line.
//
// The images do not run on real Windows: their first layer is a stand-in, two empty folders, for Microsoft's base layer
// (nanoserver or servercore), which cannot be made without Windows. On a Mullion node Wine takes the base's place, so
// the image runs as it is. Real Windows can run its second layer on a real base layer of the same build.
//
// A Linux image is an index with one manifest for linux/amd64 of one layer: the files, owned by root, with their
// permissions.
package imagebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Labels that tell where an image comes from.
const (
	// LabelBase says, in the image's labels, that the base layer is a stand-in.
	LabelBase = "dev.mullion.image.base"
	// BaseStandIn is the value of LabelBase.
	BaseStandIn = "stand-in"
)

// Options are what Build works on.
type Options struct {
	// Dir holds the files. For a Linux image it may be one file, a program, which becomes the entrypoint if none is
	// given. It may be empty if there are layers Below.
	Dir string
	// Below are layers made by MakeLayer that lie under the layer of Dir, lowest first. Their system must be that of
	// Spec.
	Below []*Layer
	// Spec describes the image.
	Spec Spec
	// Created is the time in the image and of all its files; zero: 1970-01-01. The command line takes it from
	// SOURCE_DATE_EPOCH (https://reproducible-builds.org/specs/source-date-epoch/).
	Created time.Time
}

// Image is a built image.
type Image struct {
	// Refs are its references in full form.
	Refs []string
	// Index is the image itself.
	Index v1.ImageIndex
	// OSVersions are the builds that the image is for, in the order of the index; for a Linux image, one empty string.
	OSVersions []string
	// OS is Windows or Linux.
	OS string
	// Elsewhere are layers that are in a registry alone, and in no archive: Windows' own.
	Elsewhere map[v1.Hash]bool
}

// Digest returns the digest of the index.
func (i *Image) Digest() (string, error) {
	h, err := i.Index.Digest()
	if err != nil {
		return "", fmt.Errorf("compute image digest: %w", err)
	}
	return h.String(), nil
}

// Build makes an image. It checks the whole description and folder before it writes anything.
func Build(ctx context.Context, o Options) (*Image, error) {
	if err := o.Spec.check(); err != nil {
		return nil, fmt.Errorf("build image from %q: %w", o.Dir, err)
	}
	if _, err := References(o.Spec.Tags); err != nil {
		return nil, fmt.Errorf("build image from %q: %w", o.Dir, err)
	}

	o.Created = whole(o.Created)
	if info, err := os.Stat(o.Dir); err == nil && o.Spec.linux() && info.Mode().IsRegular() &&
		len(o.Spec.Entrypoint) == 0 {
		o.Spec.Entrypoint = []string{path.Join("/", o.Spec.Target, filepath.Base(o.Dir))}
	}

	parts := Parts{
		Tags:    o.Spec.Tags,
		OS:      cmp.Or(o.Spec.OS, Windows),
		Config:  o.Spec.Config(),
		Created: o.Created,
	}

	var err error
	if parts.OSVersions, err = o.Spec.Versions(); err != nil {
		return nil, fmt.Errorf("build image from %q: %w", o.Dir, err)
	}
	if parts.Steps, err = makeSteps(ctx, o); err != nil {
		return nil, fmt.Errorf("build image from %q: %w", o.Dir, err)
	}

	img, err := Assemble(parts)
	if err != nil {
		return nil, fmt.Errorf("build image from %q: %w", o.Dir, err)
	}

	return img, nil
}

// Layer is a layer made for several images (Options.Below). They share its bytes: it is compressed once, and a store
// has it once.
type Layer struct {
	linux bool
	layer v1.Layer
	by    string // what made it, for the image's history
}

// MakeLayer makes the layer that Build would make of a folder. It uses o.Dir, o.Created, o.Spec.OS and o.Spec.Target.
func MakeLayer(ctx context.Context, o Options) (*Layer, error) {
	err := o.Spec.check()
	if err == nil {
		o.Created = whole(o.Created)
		var own *Layer
		if own, err = ownLayer(ctx, o); err == nil {
			return own, nil
		}
	}
	return nil, fmt.Errorf("make layer from %q: %w", o.Dir, err)
}

// whole cuts a time to whole seconds, not before 1970, as layers store it.
func whole(at time.Time) time.Time {
	if at = at.UTC().Truncate(time.Second); at.Before(time.Unix(0, 0)) {
		return time.Unix(0, 0).UTC()
	}
	return at
}

func makeSteps(ctx context.Context, o Options) ([]Step, error) {
	var all []Step
	if !o.Spec.linux() {
		base, err := BaseStep(ctx, o.Created)
		if err != nil {
			return nil, err
		}
		all = append(all, base)
	}

	for _, l := range o.Below {
		if l.linux != o.Spec.linux() {
			return nil, fmt.Errorf("a layer below is for another system: %w", errdefs.ErrInvalidArgument)
		}
		all = append(all, Step{Layer: l, By: l.by})
	}

	if o.Dir == "" && len(o.Below) > 0 {
		return all, nil
	}

	own, err := ownLayer(ctx, o)
	if err != nil {
		return nil, err
	}
	return append(all, Step{Layer: own, By: own.by}), nil
}

// BaseStep returns the first step of a Windows image: the layer that stands in for Windows' own. It has no files.
func BaseStep(ctx context.Context, at time.Time) (Step, error) {
	base, err := WindowsLayer(ctx, nil, at)
	if err != nil {
		return Step{}, fmt.Errorf("make base stand-in: %w", err)
	}
	return Step{Layer: base, By: "mullion image build: stand-in for the Windows base layer"}, nil
}

// WindowsLayer makes a layer of files on C:, a folder before what is in it. All have one time.
func WindowsLayer(ctx context.Context, files []File, at time.Time) (*Layer, error) {
	layer, err := makeLayer(func(w io.Writer) error { return WriteWindowsLayer(ctx, w, files, nil, at) })
	if err != nil {
		return nil, err
	}
	return &Layer{layer: layer}, nil
}

// NewLayer returns a layer of an image whose bytes are elsewhere.
func NewLayer(of v1.Layer) *Layer { return &Layer{layer: of} }

// Bytes returns the layer as an image has it.
func (l *Layer) Bytes() v1.Layer { return l.layer }

// ownLayer makes the layer of the folder's files.
func ownLayer(ctx context.Context, o Options) (*Layer, error) {
	target, err := o.Spec.target()
	if err != nil {
		return nil, err
	}
	if o.Spec.linux() {
		return linuxLayer(ctx, o, target)
	}

	files, err := Scan(ctx, o.Dir, target, skipSpec)
	if err != nil {
		return nil, err
	}
	own, err := WindowsLayer(ctx, files, o.Created)
	if err != nil {
		return nil, err
	}
	own.by = `mullion image build: files to C:\` + windowsPath(target)
	return own, nil
}

func makeLayer(write func(io.Writer) error) (v1.Layer, error) {
	open := func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() { w.CloseWithError(write(w)) }()
		return r, nil
	}
	l, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("write layer: %w", err)
	}
	return l, nil
}

// errNames is what all errors about names that Windows refuses wrap.
var errNames = errors.New("not a Windows file name")
