package hostproxy_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/node/agent/hostproxy"
)

const hiveHead = "WINE REGISTRY Version 2\n\n" +
	"[System\\\\CurrentControlSet\\\\Control\\\\Session Manager\\\\Environment] 1\n"

// hive is the registry of a host, which changes.
type hive struct {
	path string
	at   time.Time
}

func (h *hive) set(t *testing.T, lines ...string) {
	t.Helper()
	if err := os.WriteFile(h.path, []byte(hiveHead+strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	h.at = h.at.Add(time.Second)
	if err := os.Chtimes(h.path, h.at, h.at); err != nil {
		t.Fatal(err)
	}
}

// TestProxy follows a host whose variables change: by which proxy it goes, what it reaches without one, and what it
// says.
func TestProxy(t *testing.T) {
	var log strings.Builder
	h := hive{path: filepath.Join(t.TempDir(), "system.reg"), at: time.Unix(1_800_000_000, 0)}
	p := hostproxy.Proxy{
		Hive:   h.path,
		Direct: ".svc,10.213.0.0/24",
		Usual:  func(*http.Request) (*url.URL, error) { return url.Parse("http://usual:1") },
		Log:    slog.New(slog.NewTextHandler(&log, nil)),
	}

	goes := func(target, want string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Of(r)
		text := ""
		if got != nil {
			text = got.String()
		}
		if err != nil {
			text = err.Error()
		}
		if text != want {
			t.Errorf("%s goes by %q, want %q", target, text, want)
		}
	}

	goes("https://registry.example/", "http://usual:1") // no hive yet
	h.set(t, `"Path"="x"`, `"NO_PROXY"="own.example"`)
	goes("https://registry.example/", "http://usual:1")
	goes("https://own.example/", "")
	h.set(t, `"HTTPS_PROXY"="http://me:secret@proxy.example.com:443/"`, `"no_proxy"="own.example"`)
	goes("https://registry.example/", "http://me:secret@proxy.example.com:443/")
	goes("http://registry.example/", "http://usual:1") // each variable is for itself
	for _, direct := range []string{
		"http://own.example/", "https://own.example/", "https://r.svc/", "https://10.213.0.9/", "https://localhost/",
	} {
		goes(direct, "")
	}

	h.set(t, `"HTTP_PROXY"="127.0.0.1:3128"`)
	goes("http://registry.example/", "http://127.0.0.1:3128")
	goes("https://registry.example/", "http://usual:1")
	goes("https://r.svc/", "")
	h.set(t, `"HTTP_PROXY"="gopher://me:secret@x"`)
	for range 2 { // it does not go on without
		goes("http://registry.example/",
			`use the proxy of the host's variables HTTP_PROXY and HTTPS_PROXY: "gopher" is none of http, https, socks5`)
	}
	h.set(t)
	goes("https://registry.example/", "http://usual:1")

	if strings.Contains(log.String(), "secret") {
		t.Errorf("the log has the password: %s", log.String())
	}
	for want, times := range map[string]int{
		"proxy=http://proxy.example.com:443": 1, "proxy=http://127.0.0.1:3128": 1, "name no proxy": 1,
	} {
		if n := strings.Count(log.String(), want); n != times {
			t.Errorf("%q is there %d times in:\n%s", want, n, log.String())
		}
	}
}

// TestBrokenHive: what cannot be read is no reason to go without the proxy that may be named there.
func TestBrokenHive(t *testing.T) {
	p := hostproxy.Proxy{Hive: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://registry.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Of(r); err == nil {
		t.Errorf("it goes by %v", got)
	}
}
