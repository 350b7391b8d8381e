package prog

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/Microsoft/go-winio"

	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

// administratorsOnly is the security descriptor of the pipe containerd-containerd on Windows hosts.
const administratorsOnly = "D:P(A;;GA;;;BA)(A;;GA;;;SY)"

// relay runs a relay until the test ends.
func relay(t *testing.T, o piperelay.Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- piperelay.Run(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// relayTo runs a relay from a pipe to a socket, and from another socket to the pipe.
func relayTo(t *testing.T, pipe, socket, back string) {
	t.Helper()
	relay(t, piperelay.Options{
		Security: administratorsOnly,
		Relays:   []piperelay.Relay{{Listen: pipe, Dial: socket}, {Listen: back, Dial: pipe}},
	})
}

// untilThere dials until somebody listens.
func untilThere(t *testing.T, dial func(context.Context) (net.Conn, error)) net.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	for {
		c, err := dial(ctx)
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
			return c
		}

		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestPipeRelay(t *testing.T) {
	l, socket := listenUnix(t)
	go echo(l)
	const pipe = `\\.\pipe\mullion-relay-test`
	back := filepath.Join(t.TempDir(), "back.sock")
	relayTo(t, pipe, socket, back)
	sent := make([]byte, 1<<20)
	_, _ = rand.Read(sent)
	for name, dial := range map[string]func(context.Context) (net.Conn, error){
		"pipe": func(ctx context.Context) (net.Conn, error) { return winio.DialPipeContext(ctx, pipe) },
		"socket": func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", back)
		},
	} {
		for range 3 {
			c := untilThere(t, dial)
			if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = c.Write(sent) }()
			got := make([]byte, len(sent))
			if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%s: what comes back is other than what was sent: %v", name, err)
			}

			_ = c.Close()
		}
	}
}

// A server that has said all and ends: the client reads it all, and then the end.
func TestPipeRelayEnds(t *testing.T) {
	l, socket := listenUnix(t)
	said := bytes.Repeat([]byte("x"), 300_000)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write(said)
			_ = c.Close()
		}
	}()

	const pipe = `\\.\pipe\mullion-relay-end-test`
	relayTo(t, pipe, socket, filepath.Join(t.TempDir(), "back.sock"))
	c := untilThere(t, func(ctx context.Context) (net.Conn, error) { return winio.DialPipeContext(ctx, pipe) })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if heard, err := io.ReadAll(c); err != nil || !bytes.Equal(heard, said) {
		t.Errorf("heard %d of %d bytes, %v", len(heard), len(said), err)
	}
}

// A container's user gets as far as the pipe's access list says.
func TestPipeNamed(t *testing.T) {
	named := filepath.Join(t.TempDir(), "named.sock")
	relay(t, piperelay.Options{Relays: []piperelay.Relay{{Listen: named, Dial: piperelay.Named}}})
	serve := func(name, security string) string {
		pipe := `\\.\pipe\mullion-relay-` + name
		l, err := winio.ListenPipe(pipe, &winio.PipeConfig{SecurityDescriptor: security})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go echo(l)
		return pipe
	}

	administrators := serve("administrators", administratorsOnly)
	everybody := serve("everybody", "D:P(A;;GA;;;WD)")
	reading := serve("reading", "D:P(A;;GA;;;BA)(A;;GR;;;WD)")
	nobody := serve("nobody", "D:P(D;;GA;;;WD)(A;;GA;;;WD)")
	for _, tt := range []struct {
		name, pipe string
		user       piperelay.User
		want       bool
	}{
		{"administrator-to-administrators", administrators, piperelay.Administrator, true},
		{"user-to-administrators", administrators, piperelay.Unprivileged, false},
		{"administrator-to-everybody", everybody, piperelay.Administrator, true},
		{"user-to-everybody", everybody, piperelay.Unprivileged, true},
		{"user-to-who-may-read", reading, piperelay.Unprivileged, false},
		{"user-to-nobody", nobody, piperelay.Unprivileged, false},
		{"missing", `\\.\pipe\mullion-relay-missing`, piperelay.Administrator, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := untilThere(t, func(ctx context.Context) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", named)
			})
			if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if err := piperelay.Ask(c, tt.user, tt.pipe); err != nil {
				t.Fatal(err)
			}

			_, _ = c.Write([]byte("hi"))
			got := make([]byte, 2)
			_, err := io.ReadFull(c, got)
			if (err == nil) != tt.want {
				t.Errorf("%q, %v", got, err)
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection is not closed")
			}
		})
	}
}
