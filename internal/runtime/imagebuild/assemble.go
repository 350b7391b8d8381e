package imagebuild

import (
	"fmt"
	"maps"
	"time"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Parts are what Assemble makes an image of.
type Parts struct {
	// Tags are the references that the image gets; at least one.
	Tags []string
	// OS is Windows or Linux. OSVersions are the image's values of os.version; Linux has one empty string.
	OS         string
	OSVersions []string
	// Config is what a container is run with.
	Config v1.Config
	Author string
	// Base is an image that this one begins with, whose manifest and layers are kept; nil: there is none. BaseName is
	// its reference, and the first Windows of its layers are in no archive (Image.Elsewhere).
	Base     v1.Image
	BaseName string
	Windows  int
	// Steps are the image's history, above that of Base, the first one first.
	Steps []Step
	// Created is the time in the image.
	Created time.Time
}

// Step is a step of an image's history.
type Step struct {
	// Layer is what the step adds; nil: it changes the configuration alone.
	Layer *Layer
	// By says what was done.
	By string
}

// Assemble makes an image of layers and a configuration, with a manifest for each version of Windows.
func Assemble(p Parts) (*Image, error) {
	refs, err := References(p.Tags)
	if err != nil {
		return nil, err
	}
	img := &Image{
		OS:         p.OS,
		OSVersions: p.OSVersions,
		Refs:       refs,
	}

	if p.Base != nil {
		if img.Elsewhere, err = firstLayers(p.Base, p.Windows); err != nil {
			return nil, err
		}
	}

	img.Index = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, version := range p.OSVersions {
		platform := &v1.Platform{
			OS:           p.OS,
			Architecture: "amd64",
			OSVersion:    version,
		}

		made, err := p.manifest(platform)
		if err != nil {
			return nil, fmt.Errorf("make manifest for %s: %w", platform, err)
		}
		img.Index = mutate.AppendManifests(img.Index, mutate.IndexAddendum{
			Add:        made,
			Descriptor: v1.Descriptor{Platform: platform},
		})
	}

	return img, nil
}

// References are tags in full form.
func References(tags []string) ([]string, error) {
	if len(tags) == 0 {
		return nil, fmt.Errorf("no tag given, which is the image's name (-t): %w", errdefs.ErrInvalidArgument)
	}

	var refs []string
	for _, tag := range tags {
		named, err := reference.ParseDockerRef(tag)
		if err != nil {
			return nil, fmt.Errorf("tag %q: %w: %w", tag, err, errdefs.ErrInvalidArgument)
		}
		refs = append(refs, named.String())
	}

	return refs, nil
}

// manifest makes the image for one platform.
func (p Parts) manifest(platform *v1.Platform) (v1.Image, error) {
	config := p.Config
	config.Labels = map[string]string{}
	maps.Copy(config.Labels, p.Config.Labels)
	delete(config.Labels, LabelBase) // of a base, which may have been another
	if p.OS == Windows && p.Base == nil {
		config.Labels[LabelBase] = BaseStandIn
	}

	file := &v1.ConfigFile{
		Architecture: platform.Architecture,
		OS:           platform.OS,
		OSVersion:    platform.OSVersion,
		Author:       p.Author,
		Created:      v1.Time{Time: whole(p.Created)},
		Config:       config,
		RootFS:       v1.RootFS{Type: "layers"},
	}

	below := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if p.Base != nil {
		own, err := p.Base.ConfigFile()
		if err != nil {
			return nil, err
		}
		file.RootFS, file.History = own.RootFS, own.History
		file.OSFeatures = own.OSFeatures
		if below, err = p.named(); err != nil {
			return nil, err
		}
	}

	img, err := mutate.ConfigFile(below, file)
	if err != nil {
		return nil, err
	}
	kind, err := layerType(below)
	if err != nil {
		return nil, err
	}

	var adds []mutate.Addendum
	for _, step := range p.Steps {
		add := mutate.Addendum{History: v1.History{
			Created:    v1.Time{Time: whole(p.Created)},
			CreatedBy:  step.By,
			EmptyLayer: step.Layer == nil,
		}}
		if step.Layer != nil {
			add.Layer, add.MediaType = step.Layer.layer, kind
		}
		adds = append(adds, add)
	}

	return mutate.Append(img, adds...)
}

// named returns the base with a note of its name (https://github.com/opencontainers/image-spec/blob/v1.1.1/annotations.md).
func (p Parts) named() (v1.Image, error) {
	digest, err := p.Base.Digest()
	if err != nil || p.BaseName == "" {
		return p.Base, err
	}
	return mutate.Annotations(p.Base, map[string]string{
		ocispec.AnnotationBaseImageName:   p.BaseName,
		ocispec.AnnotationBaseImageDigest: digest.String(),
	}).(v1.Image), nil
}

// firstLayers returns the digests of the first layers of an image.
func firstLayers(of v1.Image, count int) (map[v1.Hash]bool, error) {
	layers, err := of.Layers()
	if err != nil {
		return nil, err
	}
	first := map[v1.Hash]bool{}
	for _, l := range layers[:min(count, len(layers))] {
		digest, err := l.Digest()
		if err != nil {
			return nil, err
		}
		first[digest] = true
	}
	return first, nil
}

// layerType returns what an image calls its layers: Docker's manifests have a word of their own.
func layerType(of v1.Image) (types.MediaType, error) {
	kind, err := of.MediaType()
	if kind == types.DockerManifestSchema2 {
		return types.DockerLayer, err
	}
	return types.OCILayer, err
}

// Config returns the configuration that a description asks for. It is checked.
func (s Spec) Config() v1.Config {
	config := v1.Config{
		User:       s.User,
		Env:        s.Env,
		Entrypoint: s.Entrypoint,
		Cmd:        s.Cmd,
		WorkingDir: s.WorkingDir,
		Labels:     s.Labels,
	}

	for _, port := range s.ExposedPorts {
		if config.ExposedPorts == nil {
			config.ExposedPorts = map[string]struct{}{}
		}
		if m := portLine.FindStringSubmatch(port); m[2] == "" {
			port += "/tcp"
		}
		config.ExposedPorts[port] = struct{}{}
	}

	for _, volume := range s.Volumes {
		if config.Volumes == nil {
			config.Volumes = map[string]struct{}{}
		}
		config.Volumes[volume] = struct{}{}
	}

	return config
}
