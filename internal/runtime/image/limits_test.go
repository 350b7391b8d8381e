package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/containerd/containerd/v2/plugins/content/local"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// blobs is a registry: what it has, what was asked for, with the addresses that the image gave.
type blobs struct {
	have map[digest.Digest][]byte

	mu    sync.Mutex
	asked []string
}

// Fetch gives a blob.
func (b *blobs) Fetch(_ context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
	data, there := b.have[desc.Digest]
	if !there {
		return nil, errors.New("not there")
	}

	// Layers are fetched at once.
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, strings.TrimSpace(string(data[:min(len(data), 5)])+strings.Join(desc.URLs, " ")))
	return io.NopCloser(bytes.NewReader(data)), nil
}

// put stores a blob; v is text, or made JSON of.
func (b *blobs) put(t *testing.T, mediaType string, v any) ocispec.Descriptor {
	t.Helper()
	text, isText := v.(string)
	data := []byte(text)
	if !isText {
		var err error
		if data, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}

	d := digest.FromBytes(data)
	b.have[d] = data
	return ocispec.Descriptor{
		MediaType: mediaType,
		Digest:    d,
		Size:      int64(len(data)),
	}
}

// TestFetchIsBounded: what an image says of itself is judged before it is fetched, and holds while it is.
func TestFetchIsBounded(t *testing.T) {
	const evil = "http://127.0.0.1:10291/"
	for _, tc := range []struct {
		name string
		// change changes the manifest and the image of three layers, and the descriptor of the manifest.
		change func(m *ocispec.Manifest, img *ocispec.Image, desc *ocispec.Descriptor)
		fail   string
		asked  []string
	}{
		{"as it is", nil, "", []string{"{\"sch", "{\"arc", "one", "two", "three"}},
		{
			"large manifest", func(_ *ocispec.Manifest, _ *ocispec.Image, d *ocispec.Descriptor) { d.Size = 9 << 20 },
			"manifest, index or configuration", nil,
		},
		{"large configuration", func(m *ocispec.Manifest, _ *ocispec.Image, _ *ocispec.Descriptor) {
			m.Config.Size = 10 << 30
		}, "has 10737418240 bytes", []string{"{\"sch"}},
		{
			"size below zero",
			func(m *ocispec.Manifest, _ *ocispec.Image, _ *ocispec.Descriptor) { m.Config.Size = -1 },
			"has -1 bytes",
			[]string{"{\"sch"},
		},
		{
			"longer than it says",
			func(m *ocispec.Manifest, _ *ocispec.Image, _ *ocispec.Descriptor) { m.Layers[1].Size-- },
			"sends more", nil,
		},
		{"addresses", func(m *ocispec.Manifest, _ *ocispec.Image, d *ocispec.Descriptor) {
			d.URLs = []string{evil}
			m.Config.URLs = []string{evil}
			m.Layers[1].URLs = []string{evil}
		}, "", []string{"{\"sch", "{\"arc", "one", "two", "three"}},
		{"many layers", func(m *ocispec.Manifest, img *ocispec.Image, _ *ocispec.Descriptor) {
			for range 300 {
				m.Layers, img.RootFS.DiffIDs = append(m.Layers, m.Layers[0]), append(img.RootFS.DiffIDs, "sha256:x")
			}
		}, "303 layers", []string{"{\"sch", "{\"arc"}},
		{"large layers", func(m *ocispec.Manifest, _ *ocispec.Image, _ *ocispec.Descriptor) {
			m.Layers[0].Size, m.Layers[2].Size = 40<<30, 40<<30
		}, "more than the 64 GiB", []string{"{\"sch", "{\"arc"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := &blobs{have: map[digest.Digest][]byte{}}
			var img ocispec.Image
			img.Platform = ocispec.Platform{
				OS:           "windows",
				Architecture: "amd64",
				OSVersion:    "10.0.1.1",
			}

			m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest}
			m.SchemaVersion = 2
			for _, text := range []string{"one", "two", "three"} {
				m.Layers = append(m.Layers, b.put(t, ocispec.MediaTypeImageLayer, text))
				img.RootFS.DiffIDs = append(img.RootFS.DiffIDs, digest.FromString(text))
			}

			m.Config.MediaType = ocispec.MediaTypeImageConfig
			var told ocispec.Descriptor
			if tc.change != nil {
				tc.change(&m, &img, &told)
			}
			config := b.put(t, ocispec.MediaTypeImageConfig, img)
			if m.Config.Size != 0 {
				config.Size = m.Config.Size
			}

			config.URLs, m.Config = m.Config.URLs, config
			m.Config.URLs = config.URLs
			desc := b.put(t, ocispec.MediaTypeImageManifest, m)
			if desc.URLs = told.URLs; told.Size != 0 {
				desc.Size = told.Size
			}

			store, err := local.NewLabeledStore(t.TempDir(), &memLabels{kept: map[digest.Digest]map[string]string{}})
			if err != nil {
				t.Fatal(err)
			}
			f := &fetch{
				content:  store,
				fetcher:  b,
				progress: func(Progress) {},
			}

			s := &Store{cfg: Config{OSVersion: "10.0.1.1"}}
			_, err = f.image(t.Context(), desc, s.pick(newMatcher("10.0.1.1", Process), ""))
			f.abort(t.Context())
			if (err == nil) != (tc.fail == "") || (err != nil && !strings.Contains(err.Error(), tc.fail)) {
				t.Errorf("error %v, want %q", err, tc.fail)
			}
			if diff := cmp.Diff(tc.asked, b.asked, cmpSorted()); diff != "" && tc.asked != nil {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
		})
	}
}

// cmpSorted compares lists without regard to their order: layers are fetched at once.
func cmpSorted() cmp.Option {
	return cmp.Transformer("set", func(list []string) map[string]int {
		set := map[string]int{}
		for _, e := range list {
			set[e]++
		}
		return set
	})
}

// TestUnpackingIsBounded: a small blob can be a large layer, by compression or as a sparse file.
func TestUnpackingIsBounded(t *testing.T) {
	archive := func(headers ...*tar.Header) string {
		var out bytes.Buffer
		zip := gzip.NewWriter(&out)
		w := tar.NewWriter(zip)
		for _, h := range headers {
			if err := w.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(make([]byte, h.Size)); err != nil {
				t.Fatal(err)
			}
		}

		if err := errors.Join(w.Close(), zip.Close()); err != nil {
			t.Fatal(err)
		}

		return out.String()
	}

	file := func(name string, size int64) *tar.Header {
		return &tar.Header{
			Typeflag: tar.TypeReg,
			Name:     "Files/" + name,
			Size:     size,
			Mode:     0o644,
		}
	}

	var many []*tar.Header
	for i := range 20 {
		many = append(many, file(fmt.Sprint(i), 0))
	}

	for _, tc := range []struct {
		name string
		blob string
		room budget
		fits bool
	}{
		{"fits", archive(file("a", 100_000)), budget{stream: 110_000, files: 110_000}, true},
		{"compressed", archive(file("a", 100_000)), budget{stream: 90_000, files: 110_000}, false},
		{"files", archive(file("a", 60_000), file("b", 60_000)), budget{stream: 200_000, files: 110_000}, false},
		{"many files", archive(many...), budget{stream: 200_000, files: 80_000}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store, err := local.NewLabeledStore(t.TempDir(), &memLabels{kept: map[digest.Digest]map[string]string{}})
			if err != nil {
				t.Fatal(err)
			}

			b := &blobs{have: map[digest.Digest][]byte{}}
			l := layer{blob: b.put(t, ocispec.MediaTypeImageLayerGzip, tc.blob), diffID: "sha256:other"}
			f := &fetch{
				content:  store,
				fetcher:  b,
				progress: func(Progress) {},
			}

			if err := f.fetchBlob(t.Context(), l.blob); err != nil {
				t.Fatal(err)
			}

			err = (&Store{content: store}).checkLayer(t.Context(), l, &tc.room)
			if errors.Is(err, ErrTooLarge) == tc.fits {
				t.Errorf("checkLayer: %v", err)
			}
		})
	}

	if err := newBudget().file(&tar.Header{Size: 1 << 50}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a sparse file of 1 PiB: %v", err)
	}
}

// TestReadSmall: a blob that came in an archive may be larger than its descriptor says.
func TestReadSmall(t *testing.T) {
	store, err := local.NewStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	b := &blobs{have: map[digest.Digest][]byte{}}
	desc := b.put(t, ocispec.MediaTypeImageConfig, strings.Repeat(" ", maxJSON+1)+"{}")
	f := &fetch{
		content:  store,
		fetcher:  b,
		progress: func(Progress) {},
	}

	if err := f.fetchBlob(t.Context(), desc); err != nil {
		t.Fatal(err)
	}

	desc.Size = 2
	var v any
	if err := readJSON(t.Context(), store, desc, &v); !errors.Is(err, ErrTooLarge) {
		t.Errorf("readJSON: %v", err)
	}
}

// TestNamesAreBounded: a name costs memory and time for each of its folders.
func TestNamesAreBounded(t *testing.T) {
	for _, tc := range []struct {
		name string
		hdr  tar.Header
		fits bool
	}{
		{"usual", tar.Header{Name: "Files/" + strings.Repeat("d/", 200) + "f"}, true},
		{"deep", tar.Header{Name: "Files/" + strings.Repeat("d/", 300) + "f"}, false},
		{"deep with backslashes", tar.Header{Name: `Files\` + strings.Repeat(`d\`, 300) + "f"}, false},
		{"long", tar.Header{Name: "Files/" + strings.Repeat("n", 5000)}, false},
		{"link to a deep name", tar.Header{
			Name:     "Files/l",
			Typeflag: tar.TypeSymlink,
			Linkname: strings.Repeat("d/", 300),
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &layerFilter{names: &names{folders: map[string]map[string]string{}}}
			if tc.hdr.Typeflag == 0 {
				tc.hdr.Typeflag = tar.TypeReg
			}
			if _, err := f.entry(&tc.hdr); errors.Is(err, ErrTooLarge) == tc.fits {
				t.Errorf("entry: %v", err)
			}
		})
	}

	n := &names{folders: map[string]map[string]string{}}
	var err error
	for i := 0; err == nil && i < maxNames; i++ {
		_, err = n.resolve(fmt.Sprint(i, strings.Repeat("/"+strings.Repeat("n", 150), 18)), true)
	}
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("names without an end: %v", err)
	}
}

// TestOneBadImage: what is wrong with one image says so, and is told from a fault of the store.
func TestOneBadImage(t *testing.T) {
	var spec ocispec.Image
	_, err := planLayers(ocispec.Manifest{Layers: []ocispec.Descriptor{{MediaType: ocispec.MediaTypeImageLayer}}}, spec)
	if !unreadable(err) || unreadable(errors.New("connection refused")) {
		t.Errorf("an image with more layers than it says: %v", err)
	}
}
