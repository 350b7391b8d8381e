package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/containerd/containerd/v2/plugins/content/local"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// memLabels stores the labels of a content store in place of containerd's database.
type memLabels struct {
	mu   sync.Mutex
	kept map[digest.Digest]map[string]string
}

func (m *memLabels) Get(d digest.Digest) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.kept[d]), nil
}

func (m *memLabels) Set(d digest.Digest, labels map[string]string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[d] = maps.Clone(labels)
	return nil
}

func (m *memLabels) Update(d digest.Digest, update map[string]string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept[d] == nil {
		m.kept[d] = map[string]string{}
	}
	maps.Copy(m.kept[d], update)
	return maps.Clone(m.kept[d]), nil
}

func tarLayer(t *testing.T, file, body string) v1.Layer {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	if err := tw.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg,
		Name:     file,
		Size:     int64(len(body)),
	}); err != nil {
		t.Fatal(err)
	}

	if _, err := io.WriteString(tw, body); err != nil {
		t.Fatal(err)
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}

	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buf.Bytes())),
			nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return l
}

func testImage(t *testing.T, os, version string, history []string, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS:           os,
		Architecture: "amd64",
		OSVersion:    version,
		RootFS:       v1.RootFS{Type: "layers"},
	})
	if err != nil {
		t.Fatal(err)
	}

	for i, l := range layers {
		if img, err = mutate.Append(img, mutate.Addendum{
			Layer:   l,
			History: v1.History{CreatedBy: history[i]},
		}); err != nil {
			t.Fatal(err)
		}
	}

	return img
}

// rawIndex is an index as some tools write it, with or without platforms.
type rawIndex []byte

func (r rawIndex) RawManifest() ([]byte, error)        { return r, nil }
func (r rawIndex) MediaType() (types.MediaType, error) { return types.OCIImageIndex, nil }
func indexOf(t *testing.T, told bool, images ...v1.Image) rawIndex {
	t.Helper()
	m := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	for _, img := range images {
		d, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		size, err := img.Size()
		if err != nil {
			t.Fatal(err)
		}

		desc := v1.Descriptor{
			MediaType: types.DockerManifestSchema2,
			Digest:    d,
			Size:      size,
		}

		if told {
			cfg, err := img.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			desc.Platform = &v1.Platform{
				OS:           cfg.OS,
				Architecture: cfg.Architecture,
				OSVersion:    cfg.OSVersion,
			}
		}

		m.Manifests = append(m.Manifests, desc)
	}

	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}

	return raw
}

// TestFetch pulls from a real registry into a real content store, without containerd, and checks which manifest is
// chosen, which images are refused, and which requests are made.
func TestFetch(t *testing.T) {
	const v2019, v2022 = "10.0.17763.1", "10.0.20348.1"
	var mu sync.Mutex
	var asked []string
	broken := map[string]func(body []byte) []byte{}
	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)))

	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, blob, _ := strings.Cut(r.URL.Path, "/blobs/")
		if r.Method != http.MethodGet || blob == "" {
			inner.ServeHTTP(w, r)
			return
		}

		mu.Lock()
		asked = append(asked, blob)
		breaks := broken[blob]
		mu.Unlock()
		rec := httptest.NewRecorder()
		inner.ServeHTTP(rec, r)
		body := rec.Body.Bytes()
		if breaks != nil {
			body = breaks(body)
		}

		w.WriteHeader(rec.Code)
		_, _ = w.Write(body)
	}))

	defer srv.Close()

	host := strings.TrimPrefix(srv.URL, "http://")

	base, app := tarLayer(t, "Files/Windows/System32/ntdll.dll", "windows"), tarLayer(t, "Files/app.exe", "app")
	baseDigest, err := base.Digest()
	if err != nil {
		t.Fatal(err)
	}

	good := testImage(t, "windows", v2022, []string{"Apply image 10.0.20348.1", "copy"}, base, app)
	old := testImage(t, "windows", v2019, []string{"copy"}, app)
	linux := testImage(t, "linux", "", []string{"copy"}, tarLayer(t, "bin/sh", "sh"))
	flipped, cut := tarLayer(t, "Files/flipped", strings.Repeat("f", 999)),
		tarLayer(t, "Files/cut", strings.Repeat("c", 999))
	for l, breaks := range map[v1.Layer]func([]byte) []byte{
		flipped: func(b []byte) []byte { b = slices.Clone(b); b[len(b)/2] ^= 1; return b },
		cut:     func(b []byte) []byte { return b[:len(b)/2] },
	} {
		d, err := l.Digest()
		if err != nil {
			t.Fatal(err)
		}
		broken[d.String()] = breaks
	}

	push := func(ref string, what remote.Taggable) {
		t.Helper()
		tag, err := name.NewTag(host + "/" + ref)
		if err != nil {
			t.Fatal(err)
		}

		if img, ok := what.(v1.Image); ok {
			err = remote.Write(tag, img, remote.WithContext(t.Context()))
		} else {
			err = remote.Put(tag, what, remote.WithContext(t.Context()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	push("x:good", good)
	push("x:old", old)
	push("x:linux", linux)
	push("x:flipped", testImage(t, "windows", v2022, []string{"copy"}, flipped))
	push("x:cut", testImage(t, "windows", v2022, []string{"copy"}, cut))
	push("x:index", indexOf(t, true, linux, old, good))
	push("x:index-other", indexOf(t, true, linux, old))
	push("x:index-untold", indexOf(t, false, good))
	push("x:index-untold-other", indexOf(t, false, old))

	tests := []struct {
		ref  string
		want v1.Image
		says string
	}{
		{"x:good", good, ""},
		{"x:index", good, ""},
		{"x:index-untold", good, ""},
		{"x:old", old, ""}, // a lone manifest is refused when a container is made
		{"x:linux", nil, "no match for platform in manifest: not found"},
		{"x:index-other", nil, MismatchMessage},
		{"x:index-untold-other", nil, MismatchMessage},
		{"x:flipped", nil, "unexpected commit digest"},
		{"x:cut", nil, "fetch sha256:"},
	}

	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.ref, ":", "_"), func(t *testing.T) {
			store, err := local.NewLabeledStore(t.TempDir(), &memLabels{kept: map[digest.Digest]map[string]string{}})
			if err != nil {
				t.Fatal(err)
			}

			s := &Store{cfg: Config{OSVersion: v2022}}
			resolver := Registries{}.resolver(t.Context(), nil)
			ref, desc, err := resolver.Resolve(t.Context(), host+"/"+tt.ref)
			if err != nil {
				t.Fatal(err)
			}

			fetcher, err := resolver.Fetcher(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			f := &fetch{
				content:  store,
				fetcher:  fetcher,
				progress: func(Progress) {},
			}

			sel, err := f.image(t.Context(), desc, s.pick(newMatcher(v2022, Process), ""))
			f.abort(t.Context())
			if half, err := store.ListStatuses(t.Context()); err != nil || len(half) != 0 {
				t.Errorf("half-fetched blobs %v, %v", half, err)
			}

			if tt.want == nil {
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("error %v, want %q", err, tt.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}

			id, err := tt.want.ConfigName()
			if err != nil || sel.config.Digest.String() != id.String() {
				t.Errorf("got %s, want %s, %v", sel.config.Digest, id, err)
			}
			for _, l := range sel.own() {
				if _, err := store.Info(t.Context(), l.blob.Digest); err != nil {
					t.Errorf("layer %s is not there: %v", l.blob.Digest, err)
				}
			}

			checks := 0
			check := func(l layer) error {
				return (&Store{content: store}).checkOnce(t.Context(), l, newBudget(), func(Progress) { checks++ })
			}
			if err := errors.Join(check(sel.own()[0]), check(sel.own()[0])); err != nil || checks != 1 {
				t.Errorf("check layer: %v, read %d times, want once", err, checks)
			}

			wrong := sel.own()[0]
			wrong.diffID = digest.FromString("another")
			for range 2 {
				if err := check(wrong); err == nil || !strings.Contains(err.Error(), "wrong diff id") {
					t.Errorf("a layer that is not what the image says: %v", err)
				}
			}
		})
	}

	if slices.Contains(asked, baseDigest.String()) {
		t.Error("the base layer has been asked for")
	}
}

// TestPickUnknown checks that attestations and artifacts are left alone.
func TestPickUnknown(t *testing.T) {
	unknown := ocispec.Descriptor{Platform: &ocispec.Platform{OS: "unknown", Architecture: "unknown"}}
	s := &Store{cfg: Config{OSVersion: "10.0.20348.1"}}
	if _, err := s.pick(newMatcher("10.0.20348.1", Process), "").index([]ocispec.Descriptor{unknown}); err == nil ||
		strings.Contains(err.Error(), "unknown") {
		t.Errorf("got %v", err)
	}
}
