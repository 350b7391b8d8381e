package probe_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/process/probe"
)

// pages returns what the programs of these tests serve.
func pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) })
	mux.HandleFunc("/bad", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "etcd failed"+strings.Repeat("!", 3000), http.StatusInternalServerError)
	})
	mux.HandleFunc("/silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	return mux
}

func TestGet(t *testing.T) {
	server := httptest.NewServer(pages())
	t.Cleanup(server.Close)
	body, err := probe.Target{URL: server.URL + "/healthz"}.Get(t.Context())
	if err != nil || string(body) != "ok" {
		t.Errorf("Get = %q, %v", body, err)
	}

	for most, want := range map[int64]int{0: 4096, 10: 10, 1 << 21: 1 << 20} {
		body, err := probe.Target{URL: server.URL + "/long", MostBytes: most}.Get(t.Context())
		if err != nil || len(body) != want {
			t.Errorf("Get with at most %d bytes = %d bytes, %v; want %d", most, len(body), err, want)
		}
	}

	bad := probe.Target{URL: server.URL + "/bad"}
	err = bad.Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "probe "+bad.URL+": 500 Internal Server Error: etcd failed!") {
		t.Errorf("Check = %v", err)
	} else if len(err.Error()) > 2200 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}

	err = probe.Target{URL: server.URL + "/silent", Timeout: 50 * time.Millisecond}.Check(t.Context())
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Check = %v", err)
	}
}

func TestCertificates(t *testing.T) {
	server := httptest.NewTLSServer(pages())
	t.Cleanup(server.Close)
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	ca := write("ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for _, tt := range []struct{ name, ca, server, want string }{
		{"right", ca, "", ""},
		{"named", ca, "example.com", ""},
		{"wrong-name", ca, "other.test", "other.test"},
		{"no-authority", "", "", "certificate"},
		{"empty", write("empty.crt", nil), "", "no certificate in the authority's file"},
		{"missing", filepath.Join(dir, "none.crt"), "", "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target := probe.Target{
				URL:        server.URL + "/healthz",
				CAFile:     tt.ca,
				ServerName: tt.server,
			}
			err := target.Check(t.Context())
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Check = %v, want %q", err, tt.want)
			}
		})
	}
}
