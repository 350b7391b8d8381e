package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// pair returns the ends of a connection of TCP.
func pair(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}

	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), s.Close() })
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

// TestCarry: an output waits for its connection, which outlives whoever has given it; another one is refused; what
// nobody asked for, or nobody can get any more, does not hold the program up.
func TestCarry(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	socket := filepath.Join(dir, "keeper.sock")
	c := NewClient(socket, func(context.Context) error {
		go func() { _ = Serve(ctx, socket) }()
		return nil
	})
	if _, err := c.Ensure(ctx); err != nil {
		t.Fatal(err)
	}

	streams := Streams{
		ID: "p", Stdin: filepath.Join(dir, "in"), Stdout: filepath.Join(dir, "out"), Stderr: filepath.Join(dir, "err"),
		Carried: 1<<Stdin | 1<<Stdout,
	}
	for range 2 {
		if err := c.Carry(ctx, streams); err != nil {
			t.Fatal(err)
		}
	}

	// More than a FIFO takes: the output that was asked for waits, the other one is dropped.
	much := bytes.Repeat([]byte("much"), 1<<16)
	for name, path := range map[string]string{"out": streams.Stdout, "err": streams.Stderr} {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}

		written := make(chan error, 1)
		go func() {
			_, err := w.Write(much)
			written <- err
			_ = w.Close()
		}()

		if name == "err" {
			if err := <-written; err != nil {
				t.Errorf("an output that nobody asked for: %v", err)
			}
		}
	}

	client, server := pair(t)
	if err := c.Connect(ctx, "p", Stdout, server, []byte("greeting")); err != nil {
		t.Fatal(err)
	}
	_ = server.Close()
	greeting := make([]byte, len("greeting"))
	if _, err := io.ReadFull(client, greeting); string(greeting) != "greeting" || err != nil {
		t.Errorf("the connection begins with %q, %v", greeting, err)
	}
	if got, err := io.ReadAll(client); !bytes.Equal(got, much) || err != nil {
		t.Errorf("of %d bytes of output %d came, %v", len(much), len(got), err)
	}

	for id, number := range map[string]int{"p": Stdout, "q": Stdout, "": 7} {
		if _, other := pair(t); c.Connect(ctx, id, number, other, nil) == nil {
			t.Errorf("a connection for stream %d of %q is taken", number, id)
		}
	}

	in, err := os.OpenFile(streams.Stdin, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	client, server = pair(t)
	if err := c.Connect(ctx, "p", Stdin, server, nil); err != nil {
		t.Fatal(err)
	}

	if _, err := client.Write([]byte("input")); err != nil {
		t.Fatal(err)
	}
	if err := c.EndInput(ctx, "p", true); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitInput(ctx, "p"); err != nil {
		t.Error(err)
	}

	if got, err := io.ReadAll(in); string(got) != "input" || err != nil {
		t.Errorf("the input is %q, %v", got, err)
	}
	if err := c.LetGo(ctx, streams); err != nil {
		t.Error(err)
	}
	if c.AwaitInput(ctx, "p") == nil {
		t.Error("a program that was let go is there")
	}
}

// TestConnectWithoutConnection: who promises a connection and sends something else gets none, and holds nobody up.
func TestConnectWithoutConnection(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	k := &Keeper{
		log:      slog.New(slog.DiscardHandler),
		programs: map[string]*carried{},
		past:     map[string]*carried{},
	}

	streams := Streams{
		ID:      "p",
		Stdout:  filepath.Join(dir, "out"),
		Carried: 1 << Stdout,
	}
	if err := k.carry(ctx, streams); err != nil {
		t.Fatal(err)
	}

	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	served := make(chan struct{})
	go func() {
		defer close(served)
		c, err := l.Accept()
		if err == nil {
			k.serve(ctx, c)
		}
	}()

	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := writeJSON(c, request{
		Op:     opConnect,
		ID:     "p",
		Number: Stdout,
	}); err != nil {
		t.Fatal(err)
	}

	if _, err := io.ReadFull(c, make([]byte, len("{}\n"))); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("no connection")); err != nil {
		t.Fatal(err)
	}

	<-served
	w, err := os.OpenFile(streams.Stdout, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Write(make([]byte, 1<<18)); err != nil { // more than a FIFO takes
		t.Errorf("the program is held up: %v", err)
	}

	k.letGo(streams)
}

// TestConnectAgain: whoever ends before he has given a connection away leaves the stream to the next one, which may
// have the program's output.
func TestConnectAgain(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	dir, ctx := t.TempDir(), t.Context()
	socket := filepath.Join(dir, "keeper.sock")
	c := NewClient(socket, func(context.Context) error {
		go func() { _ = Serve(ctx, socket) }()
		return nil
	})
	if _, err := c.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	streams := Streams{
		ID:      "p",
		Stdout:  filepath.Join(dir, "out"),
		Carried: 1 << Stdout,
	}
	if err := c.Carry(ctx, streams); err != nil {
		t.Fatal(err)
	}

	killed, _, err := c.send(ctx, request{
		Op:     opConnect,
		ID:     "p",
		Number: Stdout,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, other := pair(t)
	if err := c.Connect(ctx, "p", Stdout, other, nil); !errors.Is(err, ErrRefused) {
		t.Errorf("a stream that somebody else connects: %v", err)
	}
	_ = killed.Close()

	client, server := pair(t)
	for end := time.Now().Add(5 * time.Second); ; <-time.After(time.Millisecond) { // the keeper learns that he is gone
		if err = c.Connect(ctx, "p", Stdout, server, []byte("hello")); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}

	_ = server.Close()
	w, err := os.OpenFile(streams.Stdout, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.WriteString(" world")
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(client); string(got) != "hello world" || err != nil {
		t.Errorf("the output is %q, %v", got, err)
	}
	if err := c.LetGo(ctx, streams); err != nil {
		t.Error(err)
	}
}

// TestConnectAfterTheEnd: what a program has written comes on a connection that is made when the program is no more.
// Its input takes none.
func TestConnectAfterTheEnd(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	socket := filepath.Join(dir, "keeper.sock")
	c := NewClient(socket, func(context.Context) error {
		go func() { _ = Serve(ctx, socket) }()
		return nil
	})
	if _, err := c.Ensure(ctx); err != nil {
		t.Fatal(err)
	}

	streams := Streams{
		ID: "p", Stdin: filepath.Join(dir, "in"), Stdout: filepath.Join(dir, "out"), Carried: 1<<Stdin | 1<<Stdout,
	}
	if err := c.Carry(ctx, streams); err != nil {
		t.Fatal(err)
	}

	w, err := os.OpenFile(streams.Stdout, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("last words"); err != nil {
		t.Fatal(err)
	}

	_ = w.Close()
	for range 2 {
		if err := c.LetGo(ctx, streams); err != nil {
			t.Fatal(err)
		}
	}

	if _, server := pair(t); c.Connect(ctx, "p", Stdin, server, nil) == nil {
		t.Error("the input of a program that is no more gets a connection")
	}
	client, server := pair(t)
	if err := c.Connect(ctx, "p", Stdout, server, nil); err != nil {
		t.Fatal(err)
	}

	_ = server.Close()
	if got, err := io.ReadAll(client); string(got) != "last words" || err != nil {
		t.Errorf("the output is %q, %v", got, err)
	}
	// The next program of this name has streams of its own.
	if err := c.Carry(ctx, streams); err != nil {
		t.Fatal(err)
	}

	if err := c.EndInput(ctx, "p", false); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitInput(ctx, "p"); err != nil {
		t.Error(err)
	}
	if err := c.LetGo(ctx, streams); err != nil {
		t.Fatal(err)
	}
}

// TestEndOfLongInput: an input that was ended before the program has read comes whole, be its connection closed before,
// afterwards, or never. It is more than the buffers of a connection and a FIFO take, so that a part is still with the
// sender's kernel when the input is ended.
func TestEndOfLongInput(t *testing.T) {
	much := bytes.Repeat([]byte("much"), 1<<17)
	for _, closed := range []string{"before", "afterwards", "never"} {
		t.Run(closed, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			k := &Keeper{
				log:      slog.New(slog.DiscardHandler),
				programs: map[string]*carried{},
				past:     map[string]*carried{},
			}
			streams := Streams{
				ID:      "p",
				Stdin:   filepath.Join(t.TempDir(), "in"),
				Carried: 1 << Stdin,
			}
			if err := k.carry(ctx, streams); err != nil {
				t.Fatal(err)
			}
			defer k.letGo(streams)

			one := k.programs["p"].stream(Stdin)
			client, server := pair(t)
			one.connect(server, true)
			if _, err := client.Write(much); err != nil {
				t.Fatal(err)
			}

			if closed == "before" {
				_ = client.Close()
			}
			one.endInput(true)
			if closed == "afterwards" {
				_ = client.Close()
			}

			in, err := os.OpenFile(streams.Stdin, os.O_RDONLY, 0) // the program starts
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if closed == "never" {
				time.Sleep(silences*silence + silence/2) // and reads late: that it does not read is no silence
			}

			if got, err := io.ReadAll(in); !bytes.Equal(got, much) || err != nil {
				t.Errorf("of %d bytes of input %d came, %v", len(much), len(got), err)
			}
		})
	}
}

// TestDropped: a connection that came before its stream was dropped carries it, one that comes later is closed, and
// what nobody asks for is forgotten.
func TestDropped(t *testing.T) {
	for range 64 { // as often as chance needs to choose wrongly
		client, server := pair(t)
		one := newCarriage()
		one.connect(server, false)
		one.dropIt()
		if got := one.awaitConn(); got != net.Conn(server) {
			t.Fatalf("the connection is %v", got)
		}
		_, _ = client.Close(), server.Close()
	}

	client, server := pair(t)
	one := newCarriage()
	one.dropIt()
	if got := one.awaitConn(); got != nil {
		t.Errorf("the connection is %v", got)
	}

	one.connect(server, true)
	if got, err := io.ReadAll(client); len(got) > 0 || err != nil {
		t.Errorf("a connection that came too late has %q, %v", got, err)
	}

	k := &Keeper{
		log:      slog.New(slog.DiscardHandler),
		programs: map[string]*carried{},
		past:     map[string]*carried{},
	}

	streams := Streams{
		ID:      "p",
		Stdout:  filepath.Join(t.TempDir(), "out"),
		Carried: 1 << Stdout,
	}
	if err := k.carry(t.Context(), streams); err != nil {
		t.Fatal(err)
	}

	program := k.programs["p"]
	k.letGo(streams)
	program.streams[Stdout].dropIt() // as when nobody comes in time
	program.awaitEnd()
	if one, err := k.connectable("p", Stdout); err == nil && one.claim() {
		t.Error("a stream that was dropped takes a connection")
	}
}

// TestClaimedInTime: a stream whose connection is being taken is not dropped meanwhile, by a time that began before.
func TestClaimedInTime(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	for name, begin := range map[string]func(c *carried, one *carriage){
		"after another one": func(_ *carried, one *carriage) {
			if !one.claim() {
				t.Fatal("a new stream is claimed")
			}
			one.unclaim()
		},
		"after the end": func(c *carried, _ *carriage) { c.letGo(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one := newCarriage()
				c := &carried{streams: [streamCount]*carriage{Stdout: one}, cancel: func() {}}
				got := make(chan net.Conn, 1)
				go func() { got <- one.awaitConn() }()

				begin(c, one)
				time.Sleep(connectTimeout - time.Second)
				if !one.claim() {
					t.Fatal("the stream takes no connection")
				}
				time.Sleep(2 * time.Second)
				client, server := net.Pipe()
				one.connect(server, false)
				if conn := <-got; conn != server {
					t.Errorf("the connection is %v", conn)
				}
				_, _ = client.Close(), server.Close()
			})
		})
	}

	synctest.Test(t, func(t *testing.T) { // one that nobody brings is dropped
		one := newCarriage()
		one.claim()
		one.unclaim()
		if conn := one.awaitConn(); conn != nil {
			t.Errorf("the connection is %v", conn)
		}
	})
}
