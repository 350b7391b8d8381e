package discovery_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/cluster-bootstrap/token/jws"

	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/machines/discovery"
)

const (
	tokenID     = "abcdef"
	tokenSecret = "0123456789abcdef"
)

// world is an API server that answers cluster-info as a real one does, except for what a test changes.
type world struct {
	*httptest.Server
	ca   []byte
	hash string

	status int               // the status of the answer, if set
	date   time.Time         // of the server's clock, if set
	data   map[string]string // of the ConfigMap
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	bundle, err := pki.Ensure(dir, pki.SANs{IPs: []string{"127.0.0.1"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}

	w := &world{ca: bundle.CAPEM()}
	if w.hash, err = bundle.CAHash(); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "apiserver.crt"), filepath.Join(dir, "apiserver.key"))
	if err != nil {
		t.Fatal(err)
	}

	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(w.answer))
	w.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	w.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	w.StartTLS()
	t.Cleanup(w.Close)
	w.publish(t, w.URL, w.ca)

	return w
}

// publish signs a cluster-info with the token's secret.
func (w *world) publish(t *testing.T, server string, ca []byte) {
	t.Helper()
	text, err := clientcmd.Write(clientcmdapi.Config{Clusters: map[string]*clientcmdapi.Cluster{"": {
		Server:                   server,
		CertificateAuthorityData: ca,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	signature, err := jws.ComputeDetachedSignature(string(text), tokenID, tokenSecret)
	if err != nil {
		t.Fatal(err)
	}
	w.data = map[string]string{"kubeconfig": string(text), "jws-kubeconfig-" + tokenID: signature}
}

func (w *world) answer(out http.ResponseWriter, r *http.Request) {
	if !w.date.IsZero() {
		out.Header().Set("Date", w.date.UTC().Format(http.TimeFormat))
	}
	switch {
	case r.URL.Path != "/api/v1/namespaces/kube-public/configmaps/cluster-info" || r.Header.Get("Authorization") != "":
		out.WriteHeader(http.StatusBadRequest)
	case w.status != 0:
		out.WriteHeader(w.status)
	default:
		_ = json.NewEncoder(out).Encode(map[string]any{"kind": "ConfigMap", "data": w.data})
	}
}

func (w *world) config() discovery.Config {
	return discovery.Config{
		Server: w.Listener.Addr().String(),
		Token:  discovery.Token{ID: tokenID, Secret: tokenSecret},
		Hashes: []string{w.hash},
	}
}

func TestFind(t *testing.T) {
	w := newWorld(t)
	found, err := discovery.Find(t.Context(), w.config())
	if err != nil {
		t.Fatal(err)
	}
	if found.Server != w.URL || string(found.CA) != string(w.ca) {
		t.Errorf("found %q and an authority of %d bytes, want %q and %d", found.Server, len(found.CA), w.URL, len(w.ca))
	}
	unpinned := w.config()
	unpinned.Hashes = nil
	if _, err := discovery.Find(t.Context(), unpinned); err != nil {
		t.Errorf("without a hash: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	other := newWorld(t)
	for name, tt := range map[string]struct {
		change func(*testing.T, *world, *discovery.Config)
		want   error
		says   string
	}{
		"token unknown": {func(_ *testing.T, w *world,
			_ *discovery.Config,
		) {
			delete(w.data, "jws-kubeconfig-"+tokenID)
			w.data["jws-kubeconfig-fedcba"] = "of another token"
		}, discovery.ErrToken, `"abcdef"`},
		"no token known": {func(_ *testing.T, w *world, _ *discovery.Config) {
			delete(w.data, "jws-kubeconfig-"+tokenID)
		}, discovery.ErrToken, "not signed for any token"},
		"secret wrong": {
			func(_ *testing.T, _ *world, c *discovery.Config) { c.Token.Secret = "fedcba9876543210" },
			discovery.ErrSecret, "secret",
		},
		"info changed on the way": {func(_ *testing.T, w *world, _ *discovery.Config) {
			w.data["kubeconfig"] = strings.Replace(w.data["kubeconfig"], w.URL, "https://192.0.2.66:6443", 1)
		}, discovery.ErrSecret, ""},
		"hash of another": {
			func(_ *testing.T, _ *world, c *discovery.Config) { c.Hashes = []string{other.hash} },
			discovery.ErrAuthority, "sha256:",
		},
		// Somebody who knows the token signs an authority of his own: its hash differs.
		"authority of another": {func(t *testing.T, w *world, _ *discovery.Config) {
			t.Helper()
			w.publish(t, w.URL, other.ca)
		}, discovery.ErrAuthority, ""},
		// Somebody passes on the true cluster-info and answers with his own certificate: the second connection fails.
		"somebody between": {func(t *testing.T, w *world, c *discovery.Config) {
			t.Helper()
			w.publish(t, w.URL, other.ca)
			c.Hashes = []string{other.hash}
		}, discovery.ErrAuthority, "certificate"},
		"clock behind": {
			func(_ *testing.T, w *world, _ *discovery.Config) { w.date = time.Now().Add(time.Hour) },
			discovery.ErrClock, "behind",
		},
		"clock far ahead": {func(_ *testing.T, _ *world, c *discovery.Config) {
			c.Now = func() time.Time { return time.Now().AddDate(3, 0, 0) }
		}, discovery.ErrClock, "here it is"},
		"certificate expired": {func(_ *testing.T, w *world, c *discovery.Config) {
			w.date = time.Now().AddDate(3, 0, 0)
			c.Now = func() time.Time { return w.date }
		}, discovery.ErrExpired, "is valid from"},
		"still starting": {func(_ *testing.T, w *world,
			_ *discovery.Config,
		) {
			w.status = http.StatusServiceUnavailable
		}, discovery.ErrNotReady, "503"},
		"no cluster": {func(_ *testing.T, w *world, _ *discovery.Config) { w.data = nil }, discovery.ErrNotReady, ""},
		"plain HTTP scheme": {func(t *testing.T, w *world, _ *discovery.Config) {
			t.Helper()
			w.publish(t, "http://192.0.2.1:80", w.ca)
		}, nil, "not the URL"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.config()
			tt.change(t, w, &c)
			_, err := discovery.Find(t.Context(), c)
			if err == nil || (tt.want != nil && !errors.Is(err, tt.want)) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %v that says %q", err, tt.want, tt.says)
			}
		})
	}
}

func TestSmallSkewIsNoError(t *testing.T) {
	w := newWorld(t)
	w.date = time.Now().Add(4 * time.Minute)
	if _, err := discovery.Find(t.Context(), w.config()); err != nil {
		t.Error(err)
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := discovery.Find(t.Context(), discovery.Config{Server: at}); !errors.Is(err, discovery.ErrUnreachable) {
		t.Errorf("got %v, want %v", err, discovery.ErrUnreachable)
	}
}

func TestWaitsForAServerThatStarts(t *testing.T) {
	w := newWorld(t)
	calls := 0
	w.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if calls++; calls < 3 {
			out.WriteHeader(http.StatusForbidden) // until RBAC's objects exist
			return
		}
		w.answer(out, r)
	})

	c := w.config()
	c.Patience = 20 * time.Second
	if _, err := discovery.Find(t.Context(), c); err != nil || calls < 4 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// After `kubeadm init` cluster-info has no signature yet.
func TestWaitsForASignature(t *testing.T) {
	w := newWorld(t)
	signature := w.data["jws-kubeconfig-"+tokenID]
	delete(w.data, "jws-kubeconfig-"+tokenID)
	calls, told := 0, 0
	w.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if calls++; calls == 3 {
			w.data["jws-kubeconfig-"+tokenID] = signature
		}
		w.answer(out, r)
	})

	c := w.config()
	c.Patience, c.Waits = 20*time.Second, func() { told++ }
	if _, err := discovery.Find(t.Context(), c); err != nil || told != 1 {
		t.Errorf("%v, said %d times", err, told)
	}
}

func TestParse(t *testing.T) {
	for _, bad := range []string{
		"", "abcdef", "abcdef.0123", "ABCDEF.0123456789abcdef", "abcdef.0123456789abcdef\n",
		"abcde.f0123456789abcdef",
	} {
		if _, err := discovery.ParseToken(bad); err == nil {
			t.Errorf("token %q is accepted", bad)
		}
	}

	if token, err := discovery.ParseToken("abcdef.0123456789abcdef"); err != nil ||
		token.String() != "abcdef.0123456789abcdef" {
		t.Errorf("got %v, %v", token, err)
	}

	for _, bad := range []string{
		"", "sha256:", "sha256:12", "md5:" + strings.Repeat("a", 64),
		"sha256:" + strings.Repeat("g", 64),
	} {
		if _, err := discovery.ParseHash(bad); err == nil {
			t.Errorf("hash %q is accepted", bad)
		}
	}

	if hash, err := discovery.ParseHash("SHA256:" + strings.Repeat("A", 64)); err != nil ||
		hash != "sha256:"+strings.Repeat("a", 64) {
		t.Errorf("got %q, %v", hash, err)
	}
}

func FuzzHashes(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, ca []byte) {
		if hashes, err := discovery.Hashes(ca); err == nil && len(hashes) == 0 {
			t.Error("neither a hash nor an error")
		}
	})
}
