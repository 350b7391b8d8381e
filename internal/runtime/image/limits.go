package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// What an image may be at most. Whoever may create a pod may have any registry's image pulled, and one server pulls for
// all pods of a node.
const (
	// maxJSON is the size of a manifest, index or configuration, which are read into memory. Everybody is to support
	// manifests of 4 MB (https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-manifests).
	maxJSON = 8 << 20
	// maxLayers is the number of layers, base layers among them. Docker makes 125 at most
	// (https://github.com/moby/moby/blob/v28.5.2/layer/layer_store.go), an overlay of Linux has 500.
	maxLayers = 256
	// maxUnpacked is the size of all of an image's own layers together when they are decompressed; what is not
	// Windows itself is far smaller, and the virtual disk of a Windows container is 20 GB unless asked for otherwise
	// (https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-storage).
	maxUnpacked = 64 << 30
	// maxWindow is how far back a layer of zstd may refer; its reader keeps twice as much in memory. Everybody is to
	// support 8 MiB (https://www.rfc-editor.org/rfc/rfc8878#section-3.1.1.1.2), and builders ask for 32 MiB at most.
	maxWindow = 64 << 20
	// maxName and maxDepth are the length of a file's name with its folders, which Linux bounds too, and the number of
	// the folders.
	maxName, maxDepth = 4095, 255
	// maxNames is the memory that the names of a layer's files take while it is read. Half a million files of usual
	// names fit.
	maxNames = 128 << 20
)

// ErrTooLarge says that an image is larger than any that is meant to run.
var ErrTooLarge = errors.New("image is too large")

// errMalformed says that the parts of an image do not fit each other.
var errMalformed = errors.New("image is malformed")

// unreadable reports whether an error is the image's fault, not that of who keeps it. Such an image must not hide the
// others.
func unreadable(err error) bool { return errors.Is(err, errMalformed) || errors.Is(err, ErrTooLarge) }

func checkJSONSize(blob digest.Digest, size int64) error {
	if size < 0 || size > maxJSON {
		return fmt.Errorf("%w: manifest, index or configuration %s has %d bytes, of %d that are read", ErrTooLarge, blob,
			size, maxJSON)
	}
	return nil
}

// readSmall reads a blob into memory whose descriptor may lie about its size.
func readSmall(ctx context.Context, store content.Provider, desc ocispec.Descriptor) (raw []byte, err error) {
	ra, err := store.ReaderAt(ctx, desc)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ra.Close()) }()
	if err := checkJSONSize(desc.Digest, ra.Size()); err != nil {
		return nil, err
	}
	return io.ReadAll(content.NewReader(ra))
}

// checkSizes refuses what is too large even as it comes, compressed.
func checkSizes(layers []layer) error {
	if len(layers) > maxLayers {
		return fmt.Errorf("%w: it has %d layers, of %d that are unpacked", ErrTooLarge, len(layers), maxLayers)
	}

	room := int64(maxUnpacked)
	for _, l := range layers {
		if l.base != "" {
			continue
		}
		if l.blob.Size < 0 || l.blob.Size > room {
			return tooLargeUnpacked()
		}
		room -= l.blob.Size
	}

	return nil
}

// checkName refuses an entry whose name, or that of what it links to, is longer than a file's can be. Each of its
// folders would be looked for, and remembered.
func checkName(hdr *tar.Header) error {
	for _, name := range []string{hdr.Name, hdr.Linkname} {
		folders := strings.Count(name, "/") + strings.Count(name, `\`)
		if len(name) > maxName || folders > maxDepth {
			return fmt.Errorf("%w: the name %.40q… has %d bytes and %d folders, of %d and %d that a file's name may have",
				ErrTooLarge, name, len(name), folders, maxName, maxDepth)
		}
	}
	return nil
}

func tooLargeUnpacked() error {
	return fmt.Errorf("%w: its layers are more than the %d GiB that are unpacked", ErrTooLarge, maxUnpacked>>30)
}

// budget is what an image's layers may still have.
type budget struct {
	stream int64 // decompressed
	files  int64 // as files on the disk: those of a sparse archive are larger than their part of the stream
}

// newBudget returns the budget of one image.
func newBudget() *budget { return &budget{stream: maxUnpacked, files: maxUnpacked} }

// block is what a file of any size takes on the disk.
const block = 4096

// file takes what an entry of an archive needs.
func (b *budget) file(hdr *tar.Header) error {
	if b.files -= block; hdr.Size > b.files || b.files < 0 {
		return tooLargeUnpacked()
	}
	b.files -= hdr.Size
	return nil
}

// reader counts what is read from r.
func (b *budget) reader(r io.Reader) io.Reader { return budgetReader{r, b} }

type budgetReader struct {
	io.Reader
	budget *budget
}

// Read reads until the budget is used up.
func (r budgetReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.budget.stream -= int64(n); r.budget.stream < 0 {
		return 0, tooLargeUnpacked()
	}
	return n, err
}
