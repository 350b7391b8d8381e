package parts

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/places"
)

// serving returns a relay at a Unix socket, which is closed at the test's end; change may change it before it serves.
func serving(t *testing.T, dial func(context.Context) (net.Conn, error), change func(*relay)) *relay {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	r := newRelay(t.Context(), l, dial, slog.New(slog.DiscardHandler))
	change(r)
	r.done.Go(r.serve)
	t.Cleanup(func() { r.close() })
	return r
}

// joined connects to a relay; what is read takes at most 10 seconds.
func joined(t *testing.T, r *relay) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

// A server that goes leaves nothing open, though its client says nothing, and does not close its end.
func TestRelayOfAServerThatGoes(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()

	r := serving(t, dialer(server.Addr().String()), func(r *relay) { r.linger = 50 * time.Millisecond })
	before := runtime.NumGoroutine()

	c := joined(t, r)
	there, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	there.Close()

	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the client reads %d bytes, %v, and not the end", n, err)
	}
	goroutines(t, before)

	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.conns) != 0 {
		t.Errorf("%d connections are open", len(r.conns))
	}
}

// A server that hears no more, as of a program that has ended before it has read all of its input, is still heard: its
// client gets what it says to the end, and nothing holds up what the client still says.
func TestRelayOfAServerThatDoesNotHear(t *testing.T) {
	server, err := net.Listen("unix", filepath.Join(t.TempDir(), "server"))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	dial := func(context.Context) (net.Conn, error) { return net.Dial("unix", server.Addr().String()) }

	r := serving(t, dial, func(*relay) {})
	c := joined(t, r)
	there, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	if err := there.(*net.UnixConn).CloseRead(); err != nil {
		t.Fatal(err)
	}

	if _, err := c.Write(make([]byte, 1<<20)); err != nil {
		t.Errorf("the client is held up: %v", err)
	}

	said := bytes.Repeat([]byte("said"), 1<<18)
	written := make(chan error, 1)
	go func() {
		_, err := there.Write(said)
		written <- errors.Join(err, there.Close())
	}()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, said) {
		t.Errorf("of %d bytes %d came, %v", len(said), len(got), err)
	}
	if err := <-written; err != nil {
		t.Errorf("the server cannot speak: %v", err)
	}
}

// A client that has its share is turned away at once, others are not, and a place that it gives back is its own again.
func TestRelayOfAGreedyClient(t *testing.T) {
	r := serving(t, echo(t), func(r *relay) { r.places = places.New[relayClient](8) })
	says := func(c net.Conn) error {
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}

	var open []net.Conn
	for range 4 {
		c := joined(t, r)
		if err := says(c); err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}

	if err := says(joined(t, r)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("one client has more than half of the places: %v", err)
	}
	if other := clientAt(netip.MustParseAddr("192.0.2.7")); !r.places.Take(other) {
		t.Error("another client has no place")
	} else {
		r.places.Give(other)
	}

	open[0].Close()
	until(t, "a place is free again", func() bool { return says(joined(t, r)) == nil })
}

// TestClientAt tells apart who shares places.
func TestClientAt(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7":        "192.0.2.7/32",
		"::ffff:192.0.2.7": "192.0.2.7/32",
		"127.0.0.9":        "127.0.0.0/8",
		"2001:db8::1:2":    "2001:db8::/64",
		"fe80::1%eth0":     "fe80::/64",
	} {
		if got := clientAt(netip.MustParseAddr(address)).String(); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}

	if got := (relayClient{user: 7}).String(); got != "user 7" {
		t.Errorf("user 7 is %q", got)
	}
}
