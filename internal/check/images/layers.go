package images

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/zstd"
)

// Bounds of the layers of one archive.
const (
	maxWindow  = 64 << 20 // how far back a layer of zstd may refer, as the store of images has it
	maxUnpacks = 64 << 30 // bytes of all layers
)

// ErrNoImages says that a folder or archive holds no images.
var ErrNoImages = errors.New("it is neither an OCI image layout nor an archive of `docker save`")

// Layers is an image for Windows in a folder or archive.
type Layers struct {
	// Name is the reference, or what else its entry says; "" nothing.
	Name string
	// Count is the number of layers that are there. Base layers of Windows may be missing.
	Count int

	open []func() (io.ReadCloser, error)
}

// Layer opens a layer as a tar stream, lowest first. When it has been read to its end, an error says that the
// content is not what its digest says.
func (l *Layers) Layer(n int) (io.ReadCloser, error) { return l.open[n]() }

// ForWindows calls do for each image for Windows in a folder or archive (an OCI image layout, or what `docker save`
// writes); images with the same layers, for several versions of Windows, are one. The error is ErrNoImages if it is no
// such thing.
func ForWindows(ctx context.Context, file string, do func(*Layers) error) error {
	l, done, err := openLayout(file)
	if err != nil {
		return err
	}
	defer done() //nolint:errcheck // it was only read
	found := &layersWalk{
		layout: l,
		seen:   map[string]bool{},
		left:   maxUnpacks,
		do:     do,
	}

	text, err := l.read("index.json")
	if errors.Is(err, fs.ErrNotExist) {
		return found.docker()
	}

	if err != nil {
		return err
	}
	return found.index(ctx, text, "", 0)
}

// layersWalk goes through the manifests of a layout.
type layersWalk struct {
	layout

	seen    map[string]bool // layers of an image, joined
	entries int
	left    int64
	do      func(*Layers) error
}

// index reads an index or a manifest.
func (w *layersWalk) index(ctx context.Context, text []byte, name string, depth int) error {
	var m struct {
		anyManifest

		Layers []v1.Descriptor `json:"layers"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}

	if depth > maxDepth {
		return fmt.Errorf("more than %d indexes inside each other", maxDepth)
	}
	if m.Config != nil {
		return w.manifest(m.Config.Digest, m.Layers, name)
	}

	for _, e := range m.Manifests {
		if w.entries++; w.entries > maxEntries {
			return fmt.Errorf("the indexes have more than %d entries", maxEntries)
		}
		if e.Platform != nil && e.Platform.OS != "" && e.Platform.OS != "windows" {
			continue
		}

		of := name
		if full, given := fullName(e.Annotations); full != "" {
			of = full
		} else if of == "" {
			of = strings.Trim(given, `"`)
		}

		text, err := w.blob(e.Digest)
		if errors.Is(err, fs.ErrNotExist) {
			continue // an archive may hold some of an index' images only
		}
		if err != nil {
			return fmt.Errorf("entry %s of the index: %w", e.Digest, err)
		}

		if err := w.index(ctx, text, of, depth+1); err != nil {
			return err
		}
	}

	return ctx.Err()
}

// manifest calls do for an image, if it is for Windows and not known yet.
func (w *layersWalk) manifest(config v1.Hash, layers []v1.Descriptor, name string) error {
	text, err := w.blob(config)
	if err != nil {
		return fmt.Errorf("configuration %s: %w", config, err)
	}
	var p platform
	if err := json.Unmarshal(text, &p); err != nil || p.OS != "windows" {
		return nil //nolint:nilerr // it is of Linux, or an artifact that is no image
	}

	one := &Layers{Name: name}
	together := []string{name}
	for _, d := range layers {
		file := path.Join("blobs", d.Digest.Algorithm, d.Digest.Hex)
		r, err := w.open(file)
		if errors.Is(err, fs.ErrNotExist) {
			if d.MediaType.IsDistributable() {
				return fmt.Errorf("layer %s is not in it", d.Digest)
			}
			continue // a base layer of Windows
		}

		if err != nil {
			return err
		}
		if err := r.Close(); err != nil {
			return err
		}
		together = append(together, d.Digest.String())
		one.open = append(one.open, func() (io.ReadCloser, error) { return w.layer(file, d.Digest.Hex) })
	}

	one.Count = len(one.open)
	key := strings.Join(together, " ")
	if w.seen[key] {
		return nil
	}
	w.seen[key] = true
	return w.do(one)
}

// docker reads an archive that `docker save` wrote before it wrote OCI layouts.
func (w *layersWalk) docker() error {
	text, err := w.read("manifest.json")
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoImages
	}
	if err != nil {
		return err
	}

	var list []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("manifest.json: %w", err)
	}

	for _, m := range list {
		config, err := w.read(m.Config)
		if err != nil {
			return err
		}
		var p platform
		if err := json.Unmarshal(config, &p); err != nil || p.OS != "windows" {
			continue
		}

		one := &Layers{Name: strings.Join(m.RepoTags, ", "), Count: len(m.Layers)}
		for _, file := range m.Layers {
			one.open = append(one.open, func() (io.ReadCloser, error) { return w.layer(file, "") })
		}

		if err := w.do(one); err != nil {
			return err
		}
	}

	return nil
}

// layer opens a layer; digest is "" if its name is none.
func (w *layersWalk) layer(file, digest string) (io.ReadCloser, error) {
	raw, err := w.open(file)
	if err != nil {
		return nil, err
	}

	l := &layerReader{
		raw:    raw,
		walk:   w,
		digest: digest,
	}

	sum := sha256.New()
	l.hash = func() string { return hex.EncodeToString(sum.Sum(nil)) }
	l.whole = io.TeeReader(raw, sum)
	buffered := bufio.NewReader(l.whole)
	head, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, raw.Close())
	}

	l.plain = buffered
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		l.plain, err = gzip.NewReader(buffered)
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		l.plain, err = zstd.NewReader(buffered, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, raw.Close())
	}

	return l, nil
}

// layerReader reads a layer, and at its end compares its digest.
type layerReader struct {
	raw    io.ReadCloser
	whole  io.Reader // raw, while it is summed up
	plain  io.Reader // unpacked
	walk   *layersWalk
	hash   func() string
	digest string
}

func (l *layerReader) Read(p []byte) (int, error) {
	n, err := l.plain.Read(p)
	if l.walk.left -= int64(n); l.walk.left < 0 {
		return n, fmt.Errorf("the layers hold more than %d GiB", int64(maxUnpacks)>>30)
	}
	if errors.Is(err, io.EOF) && l.digest != "" {
		if _, err := io.Copy(io.Discard, l.whole); err != nil {
			return n, err
		}
		if got := l.hash(); got != l.digest {
			return n, fmt.Errorf("the content of layer sha256:%s is sha256:%s", l.digest, got)
		}
	}
	return n, err
}

func (l *layerReader) Close() error {
	if z, ok := l.plain.(*zstd.Decoder); ok {
		z.Close()
	}
	return l.raw.Close()
}
