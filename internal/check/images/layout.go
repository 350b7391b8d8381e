package images

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/check"
)

// maxFiles bounds what an archive may hold.
const maxFiles = 100_000

// layout is a folder or an archive of images.
type layout struct {
	// open opens a file by its path; the error is fs.ErrNotExist if there is none.
	open func(path string) (io.ReadCloser, error)
}

// readLayout adds the images of a layout to f.local.
func (f *Finder) readLayout(ctx context.Context, file string) error {
	l, done, err := openLayout(file)
	if err != nil {
		return err
	}
	defer done() //nolint:errcheck // it was only read
	names, err := l.images(ctx, f.local)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf(
			"its images have names without a repository (%s), so no manifest can name them; copy them with their full names", strings.Join(names, ", "))
	}
	return err
}

// openLayout opens a folder or an archive of images; done closes it.
func openLayout(file string) (l layout, done func() error, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return l, nil, err
	}

	if info.IsDir() {
		root, err := os.OpenRoot(file) // links that lead out of the folder are refused
		if err != nil {
			return l, nil, err
		}
		open := func(p string) (io.ReadCloser, error) {
			blob, _, err := beneath.Open(root, p)
			return blob, err
		}

		return layout{open}, root.Close, nil
	}

	tarball, _, err := beneath.OpenPath(file)
	if err != nil {
		return l, nil, err
	}
	if l.open, err = inTar(tarball); err != nil {
		return l, nil, errors.Join(err, tarball.Close())
	}
	return l, tarball.Close, nil
}

// inTar returns a function that opens the files of an archive without unpacking it.
func inTar(f *os.File) (func(string) (io.ReadCloser, error), error) {
	type place struct{ at, size int64 }
	files := map[string]place{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read it as a tar archive (unpack it first if it is compressed): %w", err)
		}

		if len(files) >= maxFiles {
			return nil, fmt.Errorf("the archive has more than %d files", maxFiles)
		}

		if h.Typeflag == tar.TypeReg {
			at, err := f.Seek(0, io.SeekCurrent) // the reader reads no further than the header
			if err != nil {
				return nil, err
			}
			files[path.Clean(h.Name)] = place{at, h.Size}
		}
	}

	return func(p string) (io.ReadCloser, error) {
		at, ok := files[path.Clean(p)]
		if !ok {
			return nil, &fs.PathError{
				Op:   "open",
				Path: p,
				Err:  fs.ErrNotExist,
			}
		}

		return io.NopCloser(io.NewSectionReader(f, at.at, at.size)), nil
	}, nil
}

// read returns a whole file of bounded size.
func (l layout) read(file string) ([]byte, error) {
	r, err := l.open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err == nil && len(text) > maxAnswer {
		err = fmt.Errorf("%s is longer than %d MiB", file, maxAnswer>>20)
	}
	return text, err
}

// images adds the images of a layout. If none of them has a full reference, bare are the names that they have.
func (l layout) images(ctx context.Context, to map[string][]check.Platform) (bare []string, err error) {
	text, err := l.read("index.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, l.dockerImages(to)
	}
	if err != nil {
		return nil, err
	}

	var index v1.IndexManifest
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("index.json: %w", err)
	}

	found := map[string]*walker{} // several entries with one name are one image
	for _, e := range index.Manifests {
		full, given := fullName(e.Annotations)
		if full == "" {
			bare = append(bare, given)
			continue
		}
		if found[full] == nil {
			found[full] = &walker{from: l}
		}

		if err := found[full].index(ctx, []v1.Descriptor{e}, 0); err != nil {
			return nil, fmt.Errorf("image %s: %w", full, err)
		}
	}

	for _, full := range slices.Sorted(maps.Keys(found)) {
		to[full] = append(to[full], found[full].found...)
	}

	if len(found) > 0 {
		return nil, nil
	}
	return bare, nil
}

// fullName returns the entry's full image reference. given is set instead if the annotations
// hold no more than a tag.
// https://github.com/opencontainers/image-spec/blob/v1.1.1/annotations.md, containerd's images.AnnotationImageName
func fullName(annotations map[string]string) (full, given string) {
	for _, key := range []string{"io.containerd.image.name", "org.opencontainers.image.ref.name"} {
		v := annotations[key]
		if given = v; !strings.ContainsAny(v, "/:@") { // a tag alone
			continue
		}
		if ref, err := name.ParseReference(v); err == nil {
			return ref.Name(), ""
		}
	}
	return "", fmt.Sprintf("%.80q", given)
}

// dockerImages adds the images of an archive that `docker save` wrote before it wrote OCI layouts.
// https://github.com/moby/docker-image-spec/blob/v1.3.1/v1.2.md#combined-image-json--filesystem-changeset-format
func (l layout) dockerImages(to map[string][]check.Platform) error {
	text, err := l.read("manifest.json")
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New(
			"it has neither index.json, as OCI image layouts do, nor manifest.json, as archives of `docker save` do")
	}
	if err != nil {
		return err
	}

	var list []struct {
		Config   string
		RepoTags []string
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("manifest.json: %w", err)
	}

	for _, m := range list {
		config, err := l.read(m.Config)
		if err != nil {
			return err
		}
		var w walker
		var p platform
		if err := json.Unmarshal(config, &p); err != nil {
			return fmt.Errorf("%s: %w", m.Config, err)
		}

		w.add(p)
		for _, tag := range m.RepoTags {
			if ref, err := name.ParseReference(tag); err == nil {
				to[ref.Name()] = append(to[ref.Name()], w.found...)
			}
		}
	}

	return nil
}

// blob reads a content and compares it with its digest.
func (l layout) blob(digest v1.Hash) ([]byte, error) {
	if digest.Algorithm != "sha256" {
		return nil, fmt.Errorf("digest %q: only sha256 is read", digest)
	}
	text, err := l.read(path.Join("blobs", digest.Algorithm, digest.Hex))
	if err != nil {
		return nil, err
	}
	got, _, err := v1.SHA256(strings.NewReader(string(text)))
	if err == nil && got != digest {
		err = fmt.Errorf("the content is %s, not %s", got, digest)
	}
	return text, err
}

func (l layout) manifest(_ context.Context, digest v1.Hash) ([]byte, error) { return l.blob(digest) }

func (l layout) config(_ context.Context, digest v1.Hash) ([]byte, error) { return l.blob(digest) }
