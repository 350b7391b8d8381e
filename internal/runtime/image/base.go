package image

import (
	"fmt"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// layer is one layer of an image.
type layer struct {
	blob   ocispec.Descriptor
	diffID digest.Digest
	// base says why the layer is a Windows base layer, which is left out; empty: the layer is the image's own.
	base string
}

// planLayers joins the manifest's layers with the configuration's diff IDs and marks base layers. It refuses an image
// that is too large.
func planLayers(m ocispec.Manifest, spec ocispec.Image) ([]layer, error) {
	var blobs []ocispec.Descriptor
	for _, l := range m.Layers {
		if images.IsLayerType(l.MediaType) {
			blobs = append(blobs, l)
		}
	}

	if len(blobs) != len(spec.RootFS.DiffIDs) {
		return nil, fmt.Errorf("number of layers and diffIDs don't match: %d != %d: %w", len(blobs),
			len(spec.RootFS.DiffIDs), errMalformed)
	}
	layers := make([]layer, len(blobs))
	for i, b := range blobs {
		layers[i] = layer{blob: b, diffID: spec.RootFS.DiffIDs[i]}
	}

	markBase(layers, spec.History)
	for i := range layers {
		// An address in an image is not for us to ask: it may be one that only the node reaches.
		if layers[i].base == "" {
			layers[i].blob.URLs = nil
		}
	}

	return layers, checkSizes(layers)
}

// baseHistory is what Microsoft's image builder writes as created_by of the layers of a base image:
// "Apply image 10.0.20348.5622" or "Apply image 1803-RTM-amd64" for the first, "Install update 10.0.14393.2551" or
// "Install update 1803-amd64" for the second of older images.
var baseHistory = lazyregexp.New(`^(Apply image|Install update) \S+$`)

// markBase marks Microsoft's base layers: the layers from the bottom up, without a gap, for which one of two rules
// holds. So a layer of the user's own is never taken for Windows. The rules:
//
//   - the media type is foreign or non-distributable, or the descriptor carries URLs. Base layers, and no others, were
//     published that way until June 2023 (https://techcommunity.microsoft.com/blog/containers/3846833,
//     https://github.com/opencontainers/image-spec/blob/v1.1.1/layer.md#non-distributable-layers);
//   - the image's history calls the layer "Apply image …" or "Install update …", as Microsoft's builder does for old
//     and new base images; every tool that builds on a base image carries its history over
//     (https://github.com/docker-library/repo-info/blob/11dd8d4cffac4fc551076577688bcb063832beef/repos/hello-world/remote/nanoserver.md
//     for 10.0.26100.33438 and 10.0.20348.5622, ordinary media type).
//
// An image whose history was squashed away is recognised when it is unpacked: see layerFilter.
func markBase(layers []layer, history []ocispec.History) {
	var created []string
	for _, h := range history {
		if !h.EmptyLayer {
			created = append(created, h.CreatedBy)
		}
	}
	if len(created) != len(layers) { // such a history does not tell which layer is which
		created = make([]string, len(layers))
	}

	for i := range layers {
		switch d := layers[i].blob; {
		case images.IsNonDistributable(d.MediaType):
			layers[i].base = "media type " + d.MediaType
		case len(d.URLs) > 0:
			layers[i].base = "fetched from " + d.URLs[0]
		case baseHistory.MatchString(created[i]):
			layers[i].base = created[i]
		default:
			return
		}
	}
}
