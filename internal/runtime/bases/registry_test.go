package bases_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"mullion.dev/mullion/internal/runtime/bases"
)

// A registry that refuses, is busy, or answers with garbage ends the build with the line, what it said and what to do;
// none of it hangs or fills the memory.
func TestRegistriesThatRefuse(t *testing.T) {
	endless := strings.Repeat("x", 1<<20)
	for what, tt := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		"401": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}, "does not let you (401): log on by `docker login 127.0.0.1"},
		"403":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "does not let you (403)"},
		"429":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, "too many requests (429)"},
		"404":     {http.NotFound, "does not have it (404)"},
		"500":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "answers 500"},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "\x00\x01<html>") }, "Dockerfile:1"},
		"garbage for JSON": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
			_, _ = io.WriteString(w, `{"schemaVersion":2,"config":{"digest":"sha256:../../x"},"layers":[{}]}`)
		}, "Dockerfile:1"},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, endless); err != nil {
					return
				}
			}
		}, "Dockerfile:1"},
		"silence": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "Dockerfile:1"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v2/" && what != "401" {
					return
				}
				tt.answer(w, r)
			}))
			defer web.Close()

			ref := strings.TrimPrefix(web.URL, "http://") + "/a:b"
			f := &bases.Finder{Registry: bases.Registry{Silence: 500 * time.Millisecond}}
			_, _, err := build(t, f, "FROM "+ref+"\nCOPY a.txt /")
			if err == nil || !strings.HasPrefix(err.Error(), "Dockerfile:1: FROM "+ref) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// A layer that is not what the image says is never part of a build.
func TestLayerThatLies(t *testing.T) {
	s := newServer(t)
	good := windowsImage(t, version, types.DockerLayer)
	config, err := good.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	config = config.DeepCopy()
	config.RootFS.DiffIDs[1] = config.RootFS.DiffIDs[0]
	bad, err := mutate.ConfigFile(good, config)
	if err != nil {
		t.Fatal(err)
	}

	_, _, err = build(t, &bases.Finder{}, "FROM "+s.write(t, "bad:1", bad))
	if err == nil || !strings.Contains(err.Error(), "as the image's configuration says") {
		t.Error(err)
	}
}
