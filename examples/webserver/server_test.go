package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func get(t *testing.T, s *server, path, from, accept string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr = from
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	s.routes().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "greeting.txt")
	s := newServer(system{
		version: "10.0.20348.2762",
		host:    "win-1",
		user:    `win-1\<x>`,
	}, file)

	if _, body := get(t, s, "/", "10.1.1.1:5", "*/*"); !strings.Contains(body, "Windows Container Web Server") ||
		!strings.Contains(body, "Windows: 10.0.20348.2762") {
		t.Errorf("without a greeting: %q", body)
	}

	for _, text := range []string{"hello", "changed"} {
		if err := os.WriteFile(file, []byte(text+"\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, body := get(t, s, "/", "10.1.1.1:6", "*/*"); !strings.HasPrefix(body, text+"\n") {
			t.Errorf("greeting %q: %q", text, body)
		}
	}

	_, body := get(t, s, "/", "10.1.1.2:7", "text/html")
	for _, want := range []string{
		"<h1>changed</h1>", "Caller 10.1.1.1<td>3 requests", "Caller 10.1.1.2<td>1 requests",
		`win-1\&lt;x&gt;`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("page lacks %q: %s", want, body)
		}
	}

	if code, _ := get(t, s, "/nothing", "10.1.1.1:8", "*/*"); code != http.StatusNotFound {
		t.Errorf("unknown path: %d", code)
	}
}

func TestManyCallers(t *testing.T) {
	s := newServer(system{}, "none")
	for i := range maxCallers + 50 {
		s.count(net.JoinHostPort(net.IPv4(10, byte(i>>16), byte(i>>8), byte(i)).String(), "1"))
	}
	if n := len(s.callers); n != maxCallers+1 {
		t.Errorf("table has %d rows, want %d", n, maxCallers+1)
	}
}

// TestShutdown checks what a rolling update relies on: an open request ends well, and the server says not ready.
func TestShutdown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	address := l.Addr().String()
	_ = l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, slog.New(slog.DiscardHandler), options{
			listen:   address,
			greeting: "none",
			grace:    5 * time.Second,
		})
	}()

	deadline := time.Now().Add(10 * time.Second)
	for {
		resp, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				break
			}
		}

		if time.Now().After(deadline) {
			t.Fatalf("not ready: %v", err)
		}
	}

	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("shutdown: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("does not end")
	}

	s := newServer(system{}, "none")
	s.stopping.Store(true)
	if code, _ := get(t, s, "/readyz", "10.1.1.1:1", ""); code != http.StatusServiceUnavailable {
		t.Errorf("readyz while stopping: %d", code)
	}
	if code, _ := get(t, s, "/healthz", "10.1.1.1:1", ""); code != http.StatusOK {
		t.Errorf("healthz while stopping: %d", code)
	}
}
