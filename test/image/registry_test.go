//go:build kernel

package image

import (
	"archive/tar"
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/compression"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// fakeHub is a real registry on loopback that can be told to lose or to falsify a blob, and notes what is asked for.
type fakeHub struct {
	host string

	mu      sync.Mutex
	lost    map[string]bool
	stalled map[string]chan struct{} // closed when the first half of the blob has been sent
	wrong   map[string]bool
	fetched []string
}

func newHub(tb testing.TB) *fakeHub {
	tb.Helper()
	h := &fakeHub{
		lost:    map[string]bool{},
		wrong:   map[string]bool{},
		stalled: map[string]chan struct{}{},
	}

	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, digest, isBlob := strings.Cut(r.URL.Path, "/blobs/")
		if !isBlob || r.Method != http.MethodGet {
			inner.ServeHTTP(w, r)
			return
		}

		h.mu.Lock()
		h.fetched = append(h.fetched, digest)
		lost := h.lost[digest]
		falsified := h.wrong[digest]
		half := h.stalled[digest]
		delete(h.stalled, digest) // only the first request
		h.mu.Unlock()
		switch {
		case lost:
			http.NotFound(w, r)
		case half != nil:
			rec := httptest.NewRecorder()
			inner.ServeHTTP(rec, r)
			w.Header().Set("Content-Length", strconv.Itoa(rec.Body.Len()))
			_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
			_ = http.NewResponseController(w).Flush()
			close(half)
			<-r.Context().Done()

		case falsified:
			rec := httptest.NewRecorder()
			inner.ServeHTTP(rec, r)
			body := rec.Body.Bytes()
			body[len(body)/2] ^= 0xff
			_, _ = w.Write(body)
		default:
			inner.ServeHTTP(w, r)
		}
	}))
	tb.Cleanup(srv.Close)
	h.host = strings.TrimPrefix(srv.URL, "http://")

	return h
}

// stall sends half of a blob to the first who asks, and then nothing until they are gone. The channel is closed when
// half has been sent.
func (h *fakeHub) stall(digest string) <-chan struct{} {
	half := make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stalled[digest] = half
	return half
}

func (h *fakeHub) lose(digest string)    { h.mu.Lock(); h.lost[digest] = true; h.mu.Unlock() }
func (h *fakeHub) falsify(digest string) { h.mu.Lock(); h.wrong[digest] = true; h.mu.Unlock() }

func (h *fakeHub) push(tb testing.TB, ref string, img v1.Image) string {
	tb.Helper()
	full := h.host + "/" + ref
	parsed, err := name.ParseReference(full)
	if err != nil {
		tb.Fatal(err)
	}
	if err := remote.Write(parsed, img, remote.WithContext(tb.Context())); err != nil {
		tb.Fatal(err)
	}
	return full
}

func (h *fakeHub) pushIndex(tb testing.TB, ref string, images ...v1.Image) string {
	tb.Helper()
	full := h.host + "/" + ref
	parsed, err := name.ParseReference(full)
	if err != nil {
		tb.Fatal(err)
	}

	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, img := range images {
		cfg, err := img.ConfigFile()
		if err != nil {
			tb.Fatal(err)
		}

		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{
				OS:           cfg.OS,
				Architecture: cfg.Architecture,
				OSVersion:    cfg.OSVersion,
			},
		}})
	}

	if err := remote.WriteIndex(parsed, index, remote.WithContext(tb.Context())); err != nil {
		tb.Fatal(err)
	}
	return full
}

// entry is a tar entry of a test layer: a name that ends in / is a folder.
type entry struct {
	name, body string
	header     tar.Header
}

func makeLayer(tb testing.TB, entries ...entry) v1.Layer {
	tb.Helper()
	return layerFrom(tb, entries, tarball.WithMediaType(types.OCILayer))
}

func zstdLayer(tb testing.TB, entries ...entry) v1.Layer {
	tb.Helper()
	return layerFrom(tb, entries, tarball.WithMediaType(types.OCILayerZStd), tarball.WithCompression(compression.ZStd))
}

func layerFrom(tb testing.TB, entries []entry, opts ...tarball.LayerOption) v1.Layer {
	tb.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, e := range entries {
		h := e.header
		h.Name, h.Size = strings.TrimSuffix(e.name, "/"), int64(len(e.body))
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
			if strings.HasSuffix(e.name, "/") {
				h.Typeflag = tar.TypeDir
			}
		}

		if err := tw.WriteHeader(&h); err != nil {
			tb.Fatal(err)
		}
		if _, err := io.WriteString(tw, e.body); err != nil {
			tb.Fatal(err)
		}
	}

	if err := tw.Close(); err != nil {
		tb.Fatal(err)
	}

	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buf.Bytes())),
			nil
	}, opts...)
	if err != nil {
		tb.Fatal(err)
	}

	return l
}

// part is a layer of a test image with what the history says of it.
type part struct {
	layer     v1.Layer
	history   string
	mediaType types.MediaType
}

func makeImage(tb testing.TB, os, version string, parts ...part) v1.Image {
	tb.Helper()
	img, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.OCIManifestSchema1), &v1.ConfigFile{
		OS:           os,
		Architecture: "amd64",
		OSVersion:    version,
		Config:       v1.Config{Entrypoint: []string{`C:\app\app.exe`}, User: "ContainerUser"},
		RootFS:       v1.RootFS{Type: "layers"},
	})
	if err != nil {
		tb.Fatal(err)
	}

	for _, p := range parts {
		mt := p.mediaType
		if mt == "" {
			mt = types.OCILayer
		}

		if img, err = mutate.Append(img, mutate.Addendum{
			Layer:     p.layer,
			MediaType: mt,
			History:   v1.History{CreatedBy: p.history},
		}); err != nil {
			tb.Fatal(err)
		}
	}

	return img
}

func digestOf(tb testing.TB, l v1.Layer) string {
	tb.Helper()
	h, err := l.Digest()
	if err != nil {
		tb.Fatal(err)
	}
	return h.String()
}
