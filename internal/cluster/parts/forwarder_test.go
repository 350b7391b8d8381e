package parts

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// echo returns a server that says everything again, and ends when its client's direction has.
func echo(t *testing.T) (dial func(context.Context) (net.Conn, error)) {
	t.Helper()
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
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()

	return dialer(server.Addr().String())
}

func dialer(address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
}

// forwarder listens on an address, and remembers the listener's.
func forwarder(network, address string, dial func(context.Context) (net.Conn, error), at *net.Addr) *Forwarder {
	return &Forwarder{
		Unit: APIForwarder(),
		Listen: func(context.Context) (net.Listener, error) {
			l, err := net.Listen(network, address)
			if err == nil {
				*at = l.Addr()
			}
			return l, err
		},
		Dial: dial,
		Log:  slog.New(slog.DiscardHandler),
	}
}

func TestForwarderCopiesBothWaysAndStops(t *testing.T) {
	var at net.Addr
	f := forwarder("tcp", "127.0.0.1:0", echo(t), &at)
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", at.String())
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
	open, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}

	if err := f.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
	defer open.Close()
	open.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadAll(open); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a connection is open after Stop")
	}

	if c, err := net.Dial("tcp", at.String()); err == nil {
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
	dialed := make(chan struct{}, 2)
	var at net.Addr
	f := forwarder("tcp", "127.0.0.1:0", func(context.Context) (net.Conn, error) {
		dialed <- struct{}{}
		return nil, syscall.ECONNREFUSED
	}, &at)
	if err := f.Stop(t.Context()); err != nil {
		t.Errorf("Stop before Start: %v", err)
	}

	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		c, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); len(got) > 0 {
			t.Errorf("read %q, %v", got, err)
		}
		<-dialed
		c.Close()
	}

	taken := forwarder("tcp", at.String(), nil, &at)
	if err := taken.Start(t.Context()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(taken.Stop(t.Context()), f.Stop(t.Context())); err != nil {
		t.Error(err)
	}
}

// Many connections over a Unix socket carry much, each whole, half-closed as Docker's hijacked streams are, and leave
// no goroutine.
func TestForwarderOfManyStreams(t *testing.T) {
	var at net.Addr
	f := forwarder("unix", filepath.Join(t.TempDir(), "s"), echo(t), &at)
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()

	data := make([]byte, 1<<20)
	rand.Read(data)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			c, err := net.Dial("unix", at.String())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			go func() {
				if _, err := c.Write(data); err != nil {
					t.Error(err)
				}
				c.(*net.UnixConn).CloseWrite()
			}()

			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d of %d bytes came back, %v", len(got), len(data), err)
			}
		})
	}

	all.Wait()
	goroutines(t, before)
	if err := f.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// A client that goes while the server says nothing, as `docker logs -f` that is interrupted, leaves nothing open.
func TestForwarderOfAClientThatGoes(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()

	accepted := make(chan net.Conn)
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()

	var at net.Addr
	f := forwarder("unix", filepath.Join(t.TempDir(), "s"), dialer(server.Addr().String()), &at)
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer f.Stop(t.Context())
	before := runtime.NumGoroutine()

	c, err := net.Dial("unix", at.String())
	if err != nil {
		t.Fatal(err)
	}
	silent := <-accepted
	defer silent.Close()

	// One that only has no more to say still hears.
	if err := c.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := silent.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Fatalf("the server reads %d bytes, %v, and not the end", n, err)
	}

	if _, err := silent.Write([]byte("late")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 4)); err != nil {
		t.Errorf("the client does not hear: %v", err)
	}

	c.Close()
	goroutines(t, before)
}

// goroutines waits until there are no more goroutines than there were.
func goroutines(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, and %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(10 * time.Millisecond) // a poll
	}
}
