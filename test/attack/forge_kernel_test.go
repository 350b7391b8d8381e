//go:build kernel

package attack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Windows builds: that of forged images and of the node that takes them, and an older one.
const build2022, build2019 = "10.0.20348.2762", "10.0.17763.6414"

// member is an entry of a layer.
type member struct {
	tar.Header
	body string
}

func file(name, body string) member {
	return member{tar.Header{Typeflag: tar.TypeReg, Name: name}, body}
}

func folder(name string) member { return member{tar.Header{Typeflag: tar.TypeDir, Name: name}, ""} }

func symlink(name, to string) member {
	return member{tar.Header{
		Typeflag: tar.TypeSymlink,
		Name:     name,
		Linkname: to,
	}, ""}
}

func hardlink(name, to string) member {
	return member{tar.Header{
		Typeflag: tar.TypeLink,
		Name:     name,
		Linkname: to,
	}, ""}
}

func device(kind byte, name string, major, minor int64) member {
	return member{tar.Header{
		Typeflag: kind,
		Name:     name,
		Devmajor: major,
		Devminor: minor,
	}, ""}
}

// marked returns a file with an extended attribute.
func marked(name, attribute, value string) member {
	m := file(name, "x")
	m.PAXRecords = map[string]string{"SCHILY.xattr." + attribute: value}
	return m
}

// claimed returns a file that says that it is larger than it is; the archive ends in it.
func claimed(name string, size int64) member {
	m := file(name, "")
	m.Size = size
	return m
}

// plain returns a layer as a tar stream. The last member may claim more than it has.
func plain(t *testing.T, members []member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		h := m.Header
		cut := h.Size > 0
		if !cut {
			h.Size = int64(len(m.body))
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}

		if err := w.WriteHeader(&h); err != nil {
			t.Fatalf("%q: %v", h.Name, err)
		}
		if cut {
			return append(out.Bytes(), make([]byte, 1<<20)...)
		}
		if _, err := io.WriteString(w, m.body); err != nil {
			t.Fatalf("%q: %v", h.Name, err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// blown is data as a frame of zstd with a window of so many KiB, as a power of 2, and then zeros: 4 bytes for each 128
// KiB (RFC 8878, section 3.1.1).
func blown(data []byte, window byte, zeros int) []byte {
	const chunk = 128 << 10
	out := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, window << 3}
	block := func(last, kind, size int, content ...byte) {
		head := last | kind<<1 | size<<3
		out = append(append(out, byte(head), byte(head>>8), byte(head>>16)), content...)
	}
	for part := range slices.Chunk(data, chunk) {
		block(0, 0, len(part), part...)
	}

	for range zeros / chunk {
		block(0, 1, chunk, 0)
	}

	block(1, 0, 0)
	return out
}

// forgery is an image that says what its maker likes.
type forgery struct {
	blobs  map[digest.Digest][]byte
	kinds  map[digest.Digest]string
	target ocispec.Descriptor
}

// put stores a blob: bytes, or what is made JSON of.
func (f *forgery) put(t *testing.T, mediaType string, v any) ocispec.Descriptor {
	t.Helper()
	data, isBytes := v.([]byte)
	if !isBytes {
		var err error
		if data, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}

	d := digest.FromBytes(data)
	f.blobs[d], f.kinds[d] = data, mediaType
	return ocispec.Descriptor{
		MediaType: mediaType,
		Digest:    d,
		Size:      int64(len(data)),
	}
}

// made is what an image consists of, to be changed before it is written.
type made struct {
	f        *forgery
	manifest ocispec.Manifest
	image    ocispec.Image
}

// layer adds a layer: its blob, and its stream for the digest.
func (m *made) layer(t *testing.T, mediaType string, blob []byte, diffID digest.Digest) {
	t.Helper()
	m.manifest.Layers = append(m.manifest.Layers, m.f.put(t, mediaType, blob))
	m.image.RootFS.DiffIDs = append(m.image.RootFS.DiffIDs, diffID)
}

// forge makes an image of layers, changed by lie.
func forge(t *testing.T, layers [][]member, lie func(t *testing.T, m *made)) *forgery {
	t.Helper()
	m := &made{f: &forgery{blobs: map[digest.Digest][]byte{}, kinds: map[digest.Digest]string{}}}
	m.image.Platform = ocispec.Platform{
		OS:           "windows",
		Architecture: "amd64",
		OSVersion:    build2022,
	}

	m.image.RootFS.Type = "layers"
	m.manifest.SchemaVersion, m.manifest.MediaType = 2, ocispec.MediaTypeImageManifest
	for _, members := range layers {
		stream := plain(t, members)
		m.layer(t, ocispec.MediaTypeImageLayerGzip, zipped(t, stream), digest.FromBytes(stream))
	}

	if lie != nil {
		lie(t, m)
	}
	if m.manifest.Config.Digest == "" {
		m.manifest.Config = m.f.put(t, ocispec.MediaTypeImageConfig, m.image)
	}
	if m.f.target.Digest == "" {
		m.f.target = m.f.put(t, ocispec.MediaTypeImageManifest, m.manifest)
	}

	return m.f
}

// finish writes the manifest before what lies above it.
func (m *made) finish(t *testing.T) ocispec.Descriptor {
	t.Helper()
	m.manifest.Config = m.f.put(t, ocispec.MediaTypeImageConfig, m.image)
	d := m.f.put(t, ocispec.MediaTypeImageManifest, m.manifest)
	platform := m.image.Platform
	d.Platform = &platform
	return d
}

// nest puts a manifest under indexes, as deep as asked, each of which names the one below it so many times.
func (m *made) nest(t *testing.T, depth, times int) {
	t.Helper()
	d := m.finish(t)
	for range depth {
		var index ocispec.Index
		index.SchemaVersion, index.MediaType = 2, ocispec.MediaTypeImageIndex
		index.Manifests = slices.Repeat([]ocispec.Descriptor{d}, times)
		d = m.f.put(t, ocispec.MediaTypeImageIndex, index)
		d.Platform = &m.image.Platform
	}
	d.Platform = nil
	m.f.target = d
}

// archive returns the image as an OCI layout in a tar archive.
func (f *forgery) archive(t *testing.T, ref string) []byte {
	t.Helper()
	target := f.target
	target.Annotations = map[string]string{ocispec.AnnotationRefName: ref}
	var index ocispec.Index
	index.SchemaVersion, index.Manifests = 2, []ocispec.Descriptor{target}
	raw, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}

	members := []member{file("oci-layout", `{"imageLayoutVersion":"1.0.0"}`), file("index.json", string(raw))}
	for _, d := range slices.Sorted(maps.Keys(f.blobs)) {
		members = append(members, file(path.Join("blobs/sha256", d.Encoded()), string(f.blobs[d])))
	}

	return plain(t, members)
}

// ServeHTTP is a registry that has the image under every name.
func (f *forgery) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, name, ok := strings.Cut(r.URL.Path, "/manifests/")
	if !ok {
		_, name, ok = strings.Cut(r.URL.Path, "/blobs/")
	}
	d := digest.Digest(name)
	if ok && !strings.Contains(name, ":") {
		d = f.target.Digest
	}

	data, there := f.blobs[d]
	if ok && !there {
		http.NotFound(w, r)
		return
	}
	if ok {
		w.Header().Set("Content-Type", f.kinds[d])
		w.Header().Set("Docker-Content-Digest", d.String())
	}

	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(data)
	}
}
