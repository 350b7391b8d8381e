package piperelay_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, args, security string
		event                string
		relays               []piperelay.Relay
		wrong                bool
	}{
		{name: "one", args: `\\.\pipe\a s`, relays: []piperelay.Relay{{Listen: `\\.\pipe\a`, Dial: "s"}}},
		{
			name: "security-and-two", args: `--security D:P \\.\pipe\a s t \\.\pipe\a`, security: "D:P",
			relays: []piperelay.Relay{{Listen: `\\.\pipe\a`, Dial: "s"}, {Listen: "t", Dial: `\\.\pipe\a`}},
		},
		{name: "event", args: `--event e a b`, event: "e", relays: []piperelay.Relay{{Listen: "a", Dial: "b"}}},
		{name: "nothing", args: "", wrong: true},
		{name: "unknown", args: "--sdl D:P a b", wrong: true},
		{name: "half", args: "a", wrong: true},
		{name: "security-alone", args: "--security D:P", wrong: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := piperelay.Parse(strings.Fields(tt.args))
			if (err != nil) != tt.wrong {
				t.Fatal(err)
			}
			if tt.wrong {
				return
			}

			want := piperelay.Options{
				Security: tt.security,
				Event:    tt.event,
				Relays:   tt.relays,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}

			if again := strings.Join(got.Args(), " "); again != tt.args {
				t.Errorf("as arguments %q, want %q", again, tt.args)
			}
		})
	}
}

// start runs a relay between two sockets for one test, and returns their paths.
func start(t *testing.T) (from, to string) {
	t.Helper()
	dir := t.TempDir()
	from, to = filepath.Join(dir, "from"), filepath.Join(dir, "to")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- piperelay.Run(ctx, piperelay.Options{Relays: []piperelay.Relay{{Listen: from, Dial: to}}})
	}()

	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	return from, to
}

// dial connects when the relay listens.
func dial(t *testing.T, path string) net.Conn {
	t.Helper()
	for {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
			if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			return conn
		}

		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) { // bound, and not listening yet
			t.Fatal(err)
		}

		select {
		case <-t.Context().Done():
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
}

// serve answers each connection to a socket with f until the test ends.
func serve(t *testing.T, path string, f func(net.Conn)) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })

	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				f(conn)
			}()
		}
	}()
}

func TestBothWays(t *testing.T) {
	from, to := start(t)
	serve(t, to, func(c net.Conn) { _, _ = io.Copy(c, c) })
	sent := bytes.Repeat([]byte("mullion "), 1<<17)
	for range 3 {
		conn := dial(t, from)
		go func() { _, _ = conn.Write(sent) }()
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("what comes back is other than what was sent: %v", err)
		}
	}
}

// What a server has sent before it ends arrives, then the client sees the end, and the other way round.
func TestEnds(t *testing.T) {
	from, to := start(t)
	heard := make(chan string, 2)
	serve(t, to, func(c net.Conn) {
		if _, err := c.Write([]byte("bye")); err != nil {
			t.Error(err)
		}
		said, _ := io.ReadAll(c) // ends with the client
		heard <- string(said)
	})

	conn := dial(t, from)
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "bye" {
		t.Errorf("%q, %v", got, err)
	}

	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}

	select {
	case said := <-heard:
		if said != "hello" {
			t.Errorf("the server heard %q", said)
		}
	case <-time.After(20 * time.Second):
		t.Error("the server does not see that its client has ended")
	}
}

// A server that takes nothing any more is heard to its end, which is the client's end, too.
func TestServerDoesNotHear(t *testing.T) {
	from, to := start(t)
	said := bytes.Repeat([]byte("said"), 1<<18)
	deaf, says := make(chan struct{}), make(chan struct{})
	serve(t, to, func(c net.Conn) {
		if err := c.(*net.UnixConn).CloseRead(); err != nil {
			t.Error(err)
		}
		close(deaf)
		<-says
		if _, err := c.Write(said); err != nil {
			t.Errorf("the server cannot speak: %v", err)
		}
	})

	conn := dial(t, from)
	<-deaf
	for range 2 { // the relay learns of the first that the server does not take it
		if _, err := conn.Write(make([]byte, 1<<20)); err != nil {
			t.Fatalf("the client is held up: %v", err)
		}
	}

	close(says)
	got := make([]byte, len(said))
	if n, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, said) {
		t.Fatalf("of %d bytes %d came, %v", len(said), n, err)
	}
	if n, err := conn.Read(got); n != 0 || err == nil {
		t.Errorf("%d bytes, %v, and not the end", n, err)
	}
}

// A server that is not there ends the connection, and the relay goes on.
func TestNobodyServes(t *testing.T) {
	from, to := start(t)
	if n, err := dial(t, from).Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes of nobody", n)
	}
	serve(t, to, func(c net.Conn) { _, _ = c.Write([]byte("x")) })
	if text, err := io.ReadAll(dial(t, from)); err != nil || string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestCannotListen(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing", "socket")
	run := func(r piperelay.Relay) error {
		return piperelay.Run(t.Context(), piperelay.Options{Relays: []piperelay.Relay{r}})
	}
	err := run(piperelay.Relay{Listen: missing, Dial: "x"})
	if err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("%v", err)
	}
	if err := run(piperelay.Relay{Listen: `\\.\PIPE\x`, Dial: "x"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a pipe on Linux: %v", err)
	}
}
