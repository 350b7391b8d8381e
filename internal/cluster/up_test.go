package cluster

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// listenAt listens on a Unix socket until the test ends.
func listenAt(t *testing.T, socket string) *net.UnixListener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // a test may have closed it
	return l
}

// TestAskToStop holds that only a socket without a listener counts as no supervisor, and that every other error is
// returned.
func TestAskToStop(t *testing.T) {
	serve := func(h http.HandlerFunc) func(*testing.T, string) {
		return func(t *testing.T, socket string) {
			t.Helper()
			server := &http.Server{Handler: h}
			l := listenAt(t, socket)
			served := make(chan struct{})
			go func() {
				defer close(served)
				_ = server.Serve(l) // it ends when it is closed
			}()

			t.Cleanup(func() {
				_ = server.Close()
				<-served
			})
		}
	}

	for _, tt := range []struct {
		name    string
		prepare func(t *testing.T, socket string)
		there   bool
		fails   bool
	}{
		{"no-socket", func(*testing.T, string) {}, false, false},
		{"socket-of-a-dead-one", func(t *testing.T, socket string) {
			t.Helper()
			l := listenAt(t, socket)
			l.SetUnlinkOnClose(false)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(socket); err != nil {
				t.Fatal(err)
			}
		}, false, false},
		{
			"stops", serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }), true,
			false,
		},
		{"error", serve(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusInternalServerError)
		}), true, true},
		{"ends-as-it-is-asked", func(t *testing.T, socket string) {
			t.Helper()
			l := listenAt(t, socket)
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = l.Close()
				_, _ = c.Read(make([]byte, 1)) // the rest of the request is unread: the other end is told of a reset
				_ = c.Close()
			}()
		}, false, false},
		{"hangs-up", serve(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s.sock")
			tt.prepare(t, socket)
			there, err := askToStop(t.Context(), socket)
			if there != tt.there || (err != nil) != tt.fails {
				t.Errorf("askToStop = %v, %v; want %v, fails %v", there, err, tt.there, tt.fails)
			}
		})
	}
}
