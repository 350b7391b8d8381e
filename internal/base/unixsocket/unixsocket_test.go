package unixsocket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/unixsocket"
)

// serve answers on a socket until the test ends.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}

	server := &http.Server{Handler: h}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l) // it ends when it is closed
	}()

	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return path
}

func TestClient(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /good", func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = w.Write([]byte(`{"word":"yes"}`))
	})

	mux.HandleFunc("GET /text", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("yes")) })
	mux.HandleFunc("POST /good", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	mux.HandleFunc("GET /bad", func(w http.ResponseWriter,
		_ *http.Request,
	) {
		http.Error(w, "no room", http.StatusConflict)
	})
	mux.HandleFunc("GET /silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	client := unixsocket.NewClient(serve(t, mux), time.Minute)

	var got struct{ Word string }
	if err := client.Call(t.Context(), http.MethodGet, "/good", &got); err != nil || got.Word != "yes" {
		t.Errorf("Call = %+v, %v", got, err)
	}

	if err := client.Call(t.Context(), http.MethodPost, "/good", nil); err != nil {
		t.Errorf("Call = %v", err)
	}
	if err := client.Call(t.Context(), http.MethodGet, "/text", &got); err == nil {
		t.Error("text was taken for JSON")
	}

	err := client.Call(t.Context(), http.MethodGet, "/bad", nil)
	if err == nil || !strings.Contains(err.Error(), "409 Conflict: no room") {
		t.Errorf("Call = %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := client.Call(ctx, http.MethodGet, "/silent", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Call = %v", err)
	}

	hasty := unixsocket.NewClient(serve(t, mux), 50*time.Millisecond)
	if err := hasty.Call(t.Context(), http.MethodGet, "/silent", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Call = %v", err)
	}
	nobody := unixsocket.NewClient(filepath.Join(t.TempDir(), "none.sock"), time.Minute)
	if err := nobody.Call(t.Context(), http.MethodGet, "/good", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Call = %v", err)
	}
}

// A client by a dialer asks a server that is on no Unix socket, and reads no answer without an end.
func TestClientByDialer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			blanks := bytes.Repeat([]byte(" "), 1<<20)
			for range 64 {
				_, _ = w.Write(blanks)
			}
		}
		fmt.Fprint(w, `{"A":7}`)
	}))
	defer server.Close()

	client := unixsocket.NewClientBy(func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}, time.Minute)
	var got struct{ A int }
	if err := client.Call(t.Context(), http.MethodGet, "/short", &got); err != nil || got.A != 7 {
		t.Errorf("Call = %+v, %v", got, err)
	}
	if err := client.Call(t.Context(), http.MethodGet, "/long", &got); err == nil {
		t.Error("more than 64 MiB are read")
	}
}

// TestListen listens where a killed process has left its socket, and refuses a folder that is not there.
func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.sock")
	for range 2 {
		l, err := unixsocket.Listen(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}

		if u, ok := l.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false) // as if the process was killed
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := unixsocket.Listen(t.Context(), filepath.Join(path, "b.sock")); err == nil {
		t.Error("it listens where there is no folder")
	}
}
