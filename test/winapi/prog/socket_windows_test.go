package prog

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/windows"
)

func TestUDPListen(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := net.Dial("udp", server.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}

	defer client.Close()
	if _, err := client.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 16)
	if err := server.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}

	n, _, err := server.ReadFrom(buffer)
	if err != nil || string(buffer[:n]) != "ping" {
		t.Errorf("read: got %q, %v", buffer[:n], err)
	}
}

// listenUnix listens in a folder of its own and returns the listener and its path. Socket names are at most 107 bytes
// long.
func listenUnix(t *testing.T) (net.Listener, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, path
}

// echo answers every connection with what it sends.
func echo(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_, _ = io.Copy(c, c)
		}()
	}
}

func TestUnixSocketFile(t *testing.T) {
	l, path := listenUnix(t)
	for _, stat := range []func(string) (fs.FileInfo, error){os.Stat, os.Lstat} {
		info, err := stat(path)
		if err != nil {
			t.Fatal(err)
		}
		// What the kubelet's IsUnixDomainSocket looks at (k8s.io/kubernetes v1.36.3
		// pkg/util/filesystem/util_windows.go).
		if info.Mode()&fs.ModeSocket == 0 {
			t.Errorf("mode: got %v, want a socket", info.Mode())
		}
	}

	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Type() != fs.ModeSocket {
		t.Errorf("entries: got %v, want one socket", entries)
	}

	if _, err := net.Listen("unix", path); err == nil {
		t.Error("listened twice on the same path")
	}
	if _, err := os.ReadFile(path); err == nil {
		t.Error("read a socket file")
	}
	if got := l.Addr().String(); got != path {
		t.Errorf("address: got %q, want %q", got, path)
	}

	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantGone(t, path) // Go removes the file of a listener
}

func TestUnixEcho(t *testing.T) {
	l, path := listenUnix(t)
	go echo(l)
	want := make([]byte, 3<<20)
	if _, err := rand.Read(want); err != nil {
		t.Fatal(err)
	}

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c, err := net.Dial("unix", path)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			go func() {
				_, _ = c.Write(want)
				_ = c.(*net.UnixConn).CloseWrite()
			}()

			got, err := io.ReadAll(c)
			if err != nil {
				t.Error(err)
			} else if !bytes.Equal(got, want) {
				t.Errorf("got %d bytes, want the %d sent", len(got), len(want))
			}
		})
	}

	wg.Wait()
}

func TestUnixAddresses(t *testing.T) {
	l, path := listenUnix(t)
	accepted := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			accepted <- c
		}
	}()

	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.RemoteAddr().String(); got != path {
		t.Errorf("client's remote address: got %q, want %q", got, path)
	}

	select {
	case s := <-accepted:
		defer s.Close()
		if got := s.LocalAddr(); got == nil || got.Network() != "unix" || got.String() != path {
			t.Errorf("server's local address: got %v, want %q", got, path)
		}
		if got := s.RemoteAddr(); got == nil || got.Network() != "unix" {
			t.Errorf("server's remote address: got %v, want an unnamed unix address", got)
		}

	case <-time.After(5 * time.Second):
		t.Fatal("the connection was not accepted")
	}
}

func TestUnixHTTP(t *testing.T) {
	l, path := listenUnix(t)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", r.URL.Path)
	})}
	go func() { _ = server.Serve(l) }()
	defer server.Close()

	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error,
	) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}

	for i := range 50 {
		response, err := client.Get(fmt.Sprintf("http://unix/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		response.Body.Close()
		if want := fmt.Sprintf("hello /%d", i); err != nil || string(got) != want {
			t.Fatalf("answer: got %q, %v, want %q", got, err, want)
		}
	}
}

func TestUnixRefused(t *testing.T) {
	l, path := listenUnix(t)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("unix", path); !errors.Is(err, windows.WSAECONNREFUSED) {
		t.Errorf("dial a socket nobody listens on: got %v, want refused", err)
	}

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("unix", path); err == nil {
		t.Error("dialled a socket that is not there")
	}

	again, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestUnixDeadline(t *testing.T) {
	l, path := listenUnix(t)
	go echo(l)
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: got %v, want a timeout", err)
	}
}

// TestUnixRefusesStrangers connects to the loopback port behind a listener without going by the file.
func TestUnixRefusesStrangers(t *testing.T) {
	before := loopbackPorts(t)
	l, path := listenUnix(t)
	go echo(l)
	port := 0
	for p := range loopbackPorts(t) {
		if !before[p] {
			port = p
		}
	}
	if port == 0 {
		t.Skip("no loopback port behind the socket: this is not Wine")
	}

	stranger, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return // refused is just as good
	}
	defer stranger.Close()
	_ = stranger.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = stranger.Write([]byte("hello"))
	if n, err := stranger.Read(make([]byte, 8)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a stranger got %d bytes, %v; want the connection closed", n, err)
	}

	c, err := net.Dial("unix", path) // and the listener still serves
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}

	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

// TestPatchedLibrariesStay: what the hooks change has to be so for whoever loads the library later too.
func TestPatchedLibrariesStay(t *testing.T) {
	for _, name := range []string{"dnsapi.dll", "iphlpapi.dll", "ws2_32.dll"} {
		for range 3 { // in case something else has it
			library, err := windows.LoadLibrary(name)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				_ = windows.FreeLibrary(library)
			}
		}

		text, err := windows.UTF16PtrFromString(name)
		if err != nil {
			t.Fatal(err)
		}
		var module windows.Handle
		const uncounted = windows.GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT
		if err := windows.GetModuleHandleEx(uncounted, text, &module); err != nil {
			t.Errorf("%s can be unloaded: %v", name, err)
		}
	}
}
