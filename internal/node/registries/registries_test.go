package registries_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"
	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/node/registries"
	"mullion.dev/mullion/internal/spec"
)

// written writes the files for containerd, and returns who is asked for images of a host.
func written(t *testing.T, r spec.Registries) func(host string) []docker.RegistryHost {
	t.Helper()
	files, err := registries.Files(r)
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	for name, data := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return func(host string) []docker.RegistryHost {
		t.Helper()
		hosts, err := config.ConfigureHosts(t.Context(), config.HostOptions{HostDir: config.HostDirFromRoot(dir)})(host)
		if err != nil {
			t.Fatalf("%s: %v", host, err)
		}
		return hosts
	}
}

// TestFiles: containerd itself reads what is written, and asks the mirrors first, then the registry.
func TestFiles(t *testing.T) {
	asked := written(t, spec.Registries{
		Mirrors: map[string]spec.Mirror{
			"docker.io":             {Endpoint: []string{"http://mirror.example:5000", "https://second.example/proxy/hub"}},
			"registry.example:5000": {Endpoint: []string{"https://mirror.example"}},
			"*":                     {Endpoint: []string{"https://all.example"}},
		},
		Configs: map[string]spec.RegistryConfig{
			"own.example:8443": {TLS: spec.RegistryTLS{InsecureSkipVerify: true}},
		},
	})

	for host, want := range map[string][]string{
		"docker.io": {
			"http://mirror.example:5000/v2", "https://second.example/proxy/hub", "https://registry-1.docker.io/v2",
		},
		"registry.example:5000": {"https://mirror.example/v2", "https://registry.example:5000/v2"},
		"own.example:8443":      {"https://own.example:8443/v2"},
		"other.example":         {"https://all.example/v2", "https://other.example/v2"},
	} {
		var got []string
		for _, h := range asked(host) {
			got = append(got, h.Scheme+"://"+h.Host+h.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", host, diff)
		}
	}
}

// TestAuthorities: a registry whose certificate an authority of a file has signed is believed, and without the file it
// is not.
func TestAuthorities(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "https://")
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}

	ask := func(c spec.RegistryTLS) error {
		t.Helper()
		asked := written(t, spec.Registries{
			Mirrors: map[string]spec.Mirror{"registry.example": {Endpoint: []string{server.URL}}},
			Configs: map[string]spec.RegistryConfig{host: {TLS: c}},
		})("registry.example")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v2/", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := asked[0].Client.Do(request)
		if err == nil {
			answer.Body.Close()
		}
		return err
	}

	if err := ask(spec.RegistryTLS{CAFile: file}); err != nil {
		t.Errorf("with its authority: %v", err)
	}
	if err := ask(spec.RegistryTLS{InsecureSkipVerify: true}); err != nil {
		t.Errorf("with any certificate: %v", err)
	}
	if err := ask(spec.RegistryTLS{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of nobody is believed: %v", err)
	}

	_, err := registries.Files(spec.Registries{Configs: map[string]spec.RegistryConfig{
		host: {TLS: spec.RegistryTLS{CAFile: filepath.Join(t.TempDir(), "none.pem")}},
	}})
	if err == nil || !strings.Contains(err.Error(), "read the authorities of "+host) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestAuths(t *testing.T) {
	got := registries.Auths(spec.Registries{Configs: map[string]spec.RegistryConfig{
		"docker.io":        {Auth: spec.RegistryAuth{Username: "me", Password: "s3cr3t"}},
		"registry.example": {Auth: spec.RegistryAuth{IdentityToken: "token"}},
		"plain.example":    {TLS: spec.RegistryTLS{InsecureSkipVerify: true}},
	}})

	want := map[string]spec.RegistryAuth{
		"registry-1.docker.io": {Username: "me", Password: "s3cr3t"},
		"registry.example":     {IdentityToken: "token"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	windows := registries.ForWindows("/node/registries", got)
	if windows.HostDirs[0] != "/node/registries" || windows.Auths["registry-1.docker.io"].Password != "s3cr3t" {
		t.Errorf("Windows nodes are told %+v", windows)
	}
}

// TestAuthoritiesAlone: nodes get the certificates of a file and nothing else that it has, and a file without one is
// refused, without a word of what is in it.
func TestAuthoritiesAlone(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("s3cr3t")}))
	broken := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("s3cr3t")}))

	file := filepath.Join(t.TempDir(), "ca.pem")
	for text, want := range map[string]string{
		certificate:                                certificate,
		"root:s3cr3t\n" + key + certificate:        certificate,
		certificate + "# one more\n" + certificate: certificate + certificate,
		key:                            "",
		broken:                         "",
		"root:s3cr3t:1:0:99999:7:::\n": "",
		"":                             "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files, err := registries.Files(spec.Registries{Configs: map[string]spec.RegistryConfig{
			"own.example": {TLS: spec.RegistryTLS{CAFile: file}},
		}})
		if got := string(files["own.example/own.example.crt"]); got != want || (err == nil) != (want != "") {
			t.Errorf("of %q: %q, %v", text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("the error tells what is in the file: %v", err)
		}
	}
}
