package parts

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"syscall"
	"testing"
)

func TestForwarderCopiesBothWaysAndStops(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() { // an echo that ends when its client has
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	var d net.Dialer
	f := &Forwarder{
		Listen: "127.0.0.1:0",
		Target: server.Addr().String(),
		Dial:   d.DialContext,
		Log:    slog.New(slog.DiscardHandler),
	}
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	addr := f.listener.Addr().String()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil || string(got) != "hello" {
		t.Fatalf("read %q, %v", got, err)
	}
	open, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Stop(t.Context()); err != nil {
		t.Logf("stop: %v", err)
	}
	if _, err := io.ReadAll(open); err == nil {
		t.Log("the open connection ended cleanly")
	}
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("the forwarder still listens after Stop")
	}
	if err := f.Stop(t.Context()); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

// While nobody listens in the fabric, connections are closed at once, and the forwarder goes on: the API server may be
// restarted behind it.
func TestForwarderWithoutServer(t *testing.T) {
	dialed := make(chan string, 2)
	f := &Forwarder{
		Listen: "127.0.0.1:0",
		Target: "10.0.0.1:6443",
		Log:    slog.New(slog.DiscardHandler),
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			dialed <- address
			return nil, syscall.ECONNREFUSED
		},
	}
	if err := f.Stop(t.Context()); err != nil {
		t.Errorf("Stop before Start: %v", err)
	}
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c, err := net.Dial("tcp", f.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); len(got) > 0 || <-dialed != "10.0.0.1:6443" {
			t.Errorf("read %q, %v", got, err)
		}
		c.Close()
	}
	taken := &Forwarder{Listen: f.listener.Addr().String()}
	err := taken.Start(t.Context())
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v", err)
	}
	says(t, err, "listen on "+taken.Listen+" for the API server")
	if err := errors.Join(taken.Stop(t.Context()), f.Stop(t.Context())); err != nil {
		t.Error(err)
	}
}
