package image

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/runtime/bases"
	"mullion.dev/mullion/internal/runtime/image"
)

// asking is a registry that wants a name and a password, and notes which it gets.
type asking struct {
	mu    sync.Mutex
	given []string
	next  http.Handler
}

func (a *asking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, password, ok := r.BasicAuth()
	if !ok {
		w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	a.mu.Lock()
	a.given = append(a.given, name+" "+password)
	a.mu.Unlock()
	a.next.ServeHTTP(w, r)
}

// TestPasswordIsForOneRegistry: an image that is pushed may name any registry as that of its base. It does not get what
// a person has given for the registry of the image.
func TestPasswordIsForOneRegistry(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	servers := map[string]*asking{}
	serve := func() string {
		a := &asking{next: registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)))}
		web := httptest.NewServer(a)
		t.Cleanup(web.Close)
		address := strings.TrimPrefix(web.URL, "http://")
		servers[address] = a
		return address
	}

	own, other := serve(), serve()

	made, err := random.Image(64, 2)
	if err != nil {
		t.Fatal(err)
	}

	img := mutate.Annotations(made, map[string]string{ocispec.AnnotationBaseImageName: other + "/base:1"}).(v1.Image)
	dir := t.TempDir()
	to, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = to.AppendImage(img)
	}
	if err != nil {
		t.Fatal(err)
	}

	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}

	if err := os.Remove(filepath.Join(dir, "blobs", digest.Algorithm, digest.Hex)); err != nil {
		t.Fatal(err)
	}

	ref := own + "/app:1"
	keychain, err := onlyFor(ref, &image.Auth{Username: "me", Password: "s3cr3t"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (bases.Registry{Keychain: keychain}).PushLayout(t.Context(), ref, dir); err == nil {
		t.Error("it is pushed without a layer")
	}

	if got := servers[other].given; len(got) > 0 {
		t.Errorf("the other registry gets %q", got)
	}
	if got := servers[own].given; len(got) == 0 || got[0] != "me s3cr3t" {
		t.Errorf("its own registry gets %q", got)
	}
}

// TestKeptAuth: `mullion image pull` has what `docker login` has kept for a registry, for that one alone, and nothing
// for another one.
func TestKeptAuth(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	config := filepath.Join(dir, "config.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	write(`{"auths": {"registry.example:5000": {"auth": "bWU6czNjcjN0"}, "https://index.docker.io/v1/": {"identitytoken": "a-token"}}}`)
	for ref, want := range map[string]*image.Auth{
		"registry.example:5000/app:v1": {Username: "me", Password: "s3cr3t", ServerAddress: "https://registry.example:5000"},
		"nginx":                        {IdentityToken: "a-token", ServerAddress: "https://registry-1.docker.io"},
		"other.example/app:v1":         nil,
		"localhost:5001/app:v1":        nil,
	} {
		got, err := (&commands{}).authFor(t.Context(), ref, "", false)
		if got != nil {
			got.Auth = "" // the same once more
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", ref, err, diff)
		}
	}

	write(`{"auths": garbage`)
	if _, err := engine.KeptAuth(t.Context(), "registry.example:5000/app:v1"); err == nil || !strings.Contains(err.Error(), "registry.example:5000") {
		t.Errorf("a configuration that cannot be read: %v", err)
	}
	if _, err := engine.KeptAuth(t.Context(), "UPPER/app"); err == nil {
		t.Error("no reference is taken for one")
	}
}
