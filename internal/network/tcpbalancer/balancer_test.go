package tcpbalancer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds what the balancer has to do by itself.
const patience = 20 * time.Second

// backend is a server that answers each line with its name and the line, until its client has ended, then says "end".
type backend struct {
	name, address string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
	silent   bool
}

func newBackend(t *testing.T, name string) *backend {
	t.Helper()
	b := &backend{name: name, address: "127.0.0.1:0"}
	b.start(t)
	t.Cleanup(b.stop)
	return b
}

func (b *backend) start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	b.listener, b.address = l, l.Addr().String()
	b.mu.Unlock()

	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}

			b.mu.Lock()
			b.conns = append(b.conns, c)
			silent := b.silent
			b.mu.Unlock()
			if !silent {
				go b.answer(c)
			}
		}
	}()
}

func (b *backend) answer(c net.Conn) {
	defer c.Close()

	buffer := make([]byte, 64)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			if errors.Is(err, io.EOF) {
				fmt.Fprint(c, "end")
			}
			return
		}

		if _, err := fmt.Fprintf(c, "%s:%s", b.name, buffer[:n]); err != nil {
			return
		}
	}
}

// stop ends the server with its connections, as a machine does that loses its power.
func (b *backend) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listener.Close()
	for _, c := range b.conns {
		c.Close()
	}
	b.conns = nil
}

// hush makes the server accept and say nothing; what it has said stays.
func (b *backend) hush(silent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silent = silent
}

// speaks is a check: the server has to answer.
func speaks(ctx context.Context, address string) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if end, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(end)
	}

	if _, err := c.Write([]byte("?")); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return err
}

// start runs a balancer of backends, with short times unless cfg has others.
func start(t *testing.T, cfg Config, backends ...*backend) (*Balancer, string) {
	t.Helper()
	for _, b := range backends {
		cfg.Servers = append(cfg.Servers, Server{b.name, b.address})
	}

	cfg.Dial = (&net.Dialer{}).DialContext
	cfg.Check = speaks
	cfg.Log = slog.New(slog.DiscardHandler)
	cfg.Interval, cfg.CheckTimeout = 10*time.Millisecond, 500*time.Millisecond
	b := New(cfg)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Serve(ctx, l) }()

	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("Serve did not end")
		}
	})

	return b, l.Addr().String()
}

// up waits until exactly these servers answer.
func up(t *testing.T, b *Balancer, names ...string) {
	t.Helper()
	until(t, func() error {
		var up []string
		for _, s := range b.States() {
			if s.Up {
				up = append(up, s.Name)
			}
		}
		if !slices.Equal(up, names) {
			return fmt.Errorf("%v answer, not %v", up, names)
		}
		return nil
	})
}

func until(t *testing.T, f func() error) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// asks sends a line and returns who answered.
func asks(c net.Conn) (string, error) {
	if _, err := c.Write([]byte("hello")); err != nil {
		return "", err
	}
	buffer := make([]byte, 64)
	n, err := c.Read(buffer)
	name, line, _ := strings.Cut(string(buffer[:n]), ":")
	if err == nil && line != "hello" {
		err = fmt.Errorf("answer %q", buffer[:n])
	}
	return name, err
}

func ask(t *testing.T, c net.Conn) string {
	t.Helper()
	name, err := asks(c)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestConnectionsAreSpread(t *testing.T) {
	b, address := start(t, Config{}, newBackend(t, "a"), newBackend(t, "b"), newBackend(t, "c"))
	up(t, b, "a", "b", "c")
	count := map[string]int{}
	for range 9 {
		count[ask(t, connect(t, address))]++
	}
	for _, name := range []string{"a", "b", "c"} {
		if count[name] != 3 {
			t.Errorf("connections by server: %v", count)
		}
	}
}

func TestServerGoneAndBack(t *testing.T) {
	one, two := newBackend(t, "a"), newBackend(t, "b")
	b, address := start(t, Config{}, one, two)
	up(t, b, "a", "b")
	held := map[string]net.Conn{}
	for range 2 {
		c := connect(t, address)
		held[ask(t, c)] = c
	}

	one.stop()
	if _, err := asks(held["a"]); err == nil {
		t.Error("a connection outlives its server")
	}
	for range 4 { // also before a check has found it
		if got := ask(t, connect(t, address)); got != "b" {
			t.Errorf("%s answers", got)
		}
	}

	up(t, b, "b")
	if got := ask(t, held["b"]); got != "b" {
		t.Errorf("%s answers", got)
	}
	one.start(t)
	up(t, b, "a", "b")
	if got := ask(t, connect(t, address)); got != "a" {
		t.Errorf("%s answers; the other one has more connections", got)
	}
}

// A server that accepts and says nothing is found by the check alone. Its connections end, so that clients do not wait.
func TestSilentServer(t *testing.T) {
	one, two := newBackend(t, "a"), newBackend(t, "b")
	b, address := start(t, Config{Fall: 2}, one, two)
	up(t, b, "a", "b")
	held := map[string]net.Conn{}
	for range 2 {
		c := connect(t, address)
		held[ask(t, c)] = c
	}

	one.hush(true)
	up(t, b, "b")
	if _, err := held["a"].Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a connection to the silent server: %v", err)
	}
	if got := ask(t, connect(t, address)); got != "b" {
		t.Errorf("%s answers", got)
	}

	if got := ask(t, held["b"]); got != "b" {
		t.Errorf("%s answers", got)
	}
	one.hush(false)
	up(t, b, "a", "b")
}

// One check that fails is not enough to end connections.
func TestOneFailedCheck(t *testing.T) {
	b := New(Config{Servers: []Server{{"a", "192.0.2.1:1"}}, Log: slog.New(slog.DiscardHandler)})
	s := b.servers[0]

	steps := []struct {
		err error
		up  bool
	}{
		{nil, true},
		{io.EOF, true},
		{io.EOF, true},
		{nil, true},
		{io.EOF, true},
		{io.EOF, true},
		{io.EOF, false},
		{io.EOF, false},
		{nil, true},
		{io.EOF, true},
	}

	for i, step := range steps {
		b.judge(s, step.err)
		if got := b.States()[0].Up; got != step.up {
			t.Fatalf("after check %d: up %t", i, got)
		}
	}
}

// Without a server that answers, a connection is closed at once.
func TestNoServer(t *testing.T) {
	one := newBackend(t, "a")
	one.stop()
	b, address := start(t, Config{}, one)
	until(t, func() error {
		if b.States()[0].Err == nil {
			return errors.New("not checked yet")
		}
		return nil
	})

	if _, err := connect(t, address).Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
}

// A side that has ended can still be answered, but not for ever.
func TestHalfClose(t *testing.T) {
	b, address := start(t, Config{}, newBackend(t, "a"))
	up(t, b, "a")
	c := connect(t, address)
	ask(t, c)
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}

	if rest, err := io.ReadAll(c); err != nil || string(rest) != "end" {
		t.Errorf("after the end: %q, %v", rest, err)
	}

	silent := newBackend(t, "a")
	b, address = start(t, Config{HalfOpen: 50 * time.Millisecond, Fall: 1 << 30}, silent)
	up(t, b, "a")
	silent.hush(true)
	c = connect(t, address)
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}

	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("half a connection: %v", err)
	}

	until(t, func() error {
		if n := b.States()[0].Connections; n > 0 {
			return fmt.Errorf("%d connections", n)
		}
		return nil
	})
}

func TestManyConnections(t *testing.T) {
	b, address := start(t, Config{Most: 100, MostOfOne: 50}, newBackend(t, "a"), newBackend(t, "b"))
	up(t, b, "a", "b")
	var held []net.Conn
	for range 50 {
		c := connect(t, address)
		ask(t, c)
		held = append(held, c)
	}

	if name, err := asks(connect(t, address)); err == nil {
		t.Errorf("server %s answers one connection too many", name)
	}
	for _, c := range held {
		c.Close()
	}

	until(t, func() error {
		_, err := asks(connect(t, address))
		return err
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.from) > 1 {
		t.Errorf("clients %v", b.from)
	}
}

// The bound of all connections holds for clients of any address.
func TestMost(t *testing.T) {
	b, address := start(t, Config{Most: 2, MostOfOne: 2}, newBackend(t, "a"))
	up(t, b, "a")
	for _, from := range []string{"127.0.0.2:0", "127.0.0.3:0", "127.0.0.4:0"} {
		at, err := net.ResolveTCPAddr("tcp", from)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.DialTCP("tcp", at, connect(t, address).RemoteAddr().(*net.TCPAddr))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}

	until(t, func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.all != 2 || b.refused == 0 {
			return fmt.Errorf("%d connections, %d refused", b.all, b.refused)
		}
		return nil
	})
}
