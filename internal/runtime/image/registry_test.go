package image

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestKeptCredentials: a host's own credentials are for requests that bring none for it, and for that host alone.
func TestKeptCredentials(t *testing.T) {
	kept := Registries{Auths: map[string]Auth{"h:5000": {Username: "kept", Password: "k"}}}
	for _, tt := range []struct {
		host, user string
		auth       *Auth
	}{
		{"h:5000", "kept", nil},
		{"h", "", nil},
		{"h:5000", "own", &Auth{Username: "own", Password: "o"}},
		{"h:5000", "kept", &Auth{Username: "own", Password: "o", ServerAddress: "other"}},
		{"h", "", &Auth{Username: "own", Password: "o", ServerAddress: "other"}},
	} {
		user, _, err := kept.credentials(tt.auth)(tt.host)
		if user != tt.user || err != nil {
			t.Errorf("%s with %+v: %q, %v, want %q", tt.host, tt.auth, user, err, tt.user)
		}
	}
}

func TestCredentials(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("u:p:q"))

	tests := []struct {
		name, host, user, secret string
		auth                     *Auth
		fails                    bool
	}{
		{name: "none", host: "h"},
		{name: "password", host: "h", auth: &Auth{Username: "u", Password: "p"}, user: "u", secret: "p"},
		{name: "token", host: "h", auth: &Auth{IdentityToken: "t"}, secret: "t"},
		{name: "basic", host: "h", auth: &Auth{Auth: basic}, user: "u", secret: "p:q"},
		{name: "other-host", host: "evil", auth: &Auth{
			Username:      "u",
			Password:      "p",
			ServerAddress: "https://h/v1",
		}},
		{
			name: "bare-host",
			host: "h:5000",
			auth: &Auth{
				Username:      "u",
				Password:      "p",
				ServerAddress: "h:5000",
			},
			user:   "u",
			secret: "p",
		},
		{name: "no-base64", host: "h", auth: &Auth{Auth: "!"}, fails: true},
		{name: "no-colon", host: "h", auth: &Auth{Auth: "dQ=="}, fails: true},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			user, secret, err := tt.auth.credentials(tt.host)
			if user != tt.user || secret != tt.secret || (err != nil) != tt.fails {
				t.Errorf("got %q %q %v", user, secret, err)
			}
		})
	}
}

// TestResolve reaches a real registry: on loopback by plain HTTP, with a password, and through hosts.toml.
func TestResolve(t *testing.T) {
	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)))
	protected := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); protected && (user != "me" || password != "secret") {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))

	defer srv.Close()

	host := strings.TrimPrefix(srv.URL, "http://")
	tag, err := name.ParseReference(host + "/x:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, empty.Image, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	protected = true

	mirrors := t.TempDir()
	if err := os.MkdirAll(filepath.Join(mirrors, "mirrored.example"), 0o755); err != nil {
		t.Fatal(err)
	}
	toml := "server = \"https://mirrored.example\"\n[host.\"" + srv.URL + "\"]\n  capabilities = [\"pull\", \"resolve\"]\n"
	if err := os.WriteFile(filepath.Join(mirrors, "mirrored.example", "hosts.toml"), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}

	want, err := empty.Image.Digest()
	if err != nil {
		t.Fatal(err)
	}

	tests := []struct {
		name, ref string
		reg       Registries
		auth      *Auth
		fails     string
	}{
		{"password", host + "/x:v1", Registries{}, &Auth{Username: "me", Password: "secret"}, ""},
		{"by-digest", host + "/x@" + want.String(), Registries{}, &Auth{Username: "me", Password: "secret"}, ""},
		{"mirror", "mirrored.example/x:v1", Registries{HostDirs: []string{t.TempDir(), mirrors}}, &Auth{
			Username: "me",
			Password: "secret",
		}, ""},
		{"wrong-password", host + "/x:v1", Registries{}, &Auth{Username: "me", Password: "guess"}, "401 Unauthorized"},
		{"no-password", host + "/x:v1", Registries{}, nil, "no basic auth credentials"},
		{"not-there", host + "/y:v1", Registries{}, &Auth{Username: "me", Password: "secret"}, "not found"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, desc, err := tt.reg.resolver(ctx, tt.auth).Resolve(ctx, tt.ref)
			switch {
			case tt.fails == "" && (err != nil || desc.Digest.String() != want.String()):
				t.Errorf("got %s, %v", desc.Digest, err)
			case tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
				t.Errorf("got %v, want %q", err, tt.fails)
			}
		})
	}
}

// TestProxied: requests go by the proxy that Registries names, those of a mirror with certificates of its own too.
func TestProxied(t *testing.T) {
	var asked sync.Map
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Host, r.Method)
		http.Error(w, "refused", http.StatusBadGateway)
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}

	dirs := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dirs, "mirrored.invalid"), 0o755); err != nil {
		t.Fatal(err)
	}
	toml := "server = \"https://mirrored.invalid\"\n[host.\"https://mirror.invalid\"]\n" +
		"  capabilities = [\"pull\", \"resolve\"]\n  skip_verify = true\n"
	if err := os.WriteFile(filepath.Join(dirs, "mirrored.invalid", "hosts.toml"), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}

	reg := Registries{HostDirs: []string{dirs}, Proxy: http.ProxyURL(at)}
	for _, ref := range []string{"plain.invalid/x:v1", "mirrored.invalid/x:v1"} {
		if _, _, err := reg.resolver(t.Context(), nil).Resolve(t.Context(), ref); err == nil {
			t.Errorf("%s is there", ref)
		}
	}
	for _, host := range []string{"plain.invalid:443", "mirror.invalid:443", "mirrored.invalid:443"} {
		if method, _ := asked.Load(host); method != http.MethodConnect {
			t.Errorf("the proxy was asked %v for %s", method, host)
		}
	}

	reg.Proxy = func(*http.Request) (*url.URL, error) { return nil, errors.New("no such proxy") }
	if _, _, err := reg.resolver(t.Context(), nil).Resolve(t.Context(), "plain.invalid/x:v1"); err == nil ||
		!strings.Contains(err.Error(), "no such proxy") {
		t.Errorf("without the proxy: %v", err)
	}
}

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"nginx": "docker.io/library/nginx:latest", "a/b:v1": "docker.io/a/b:v1",
		"mullion.local/x:v1": "mullion.local/x:v1",
		"BAD":                "", "": "", "a b": "",
	} {
		got, err := Normalize(in)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}
