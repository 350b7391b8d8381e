package stream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// Client talks to a keeper.
type Client struct {
	socket string
	start  func(ctx context.Context) error

	starting sync.Mutex
}

// NewClient returns a client of the keeper on the Unix socket path. start is called when no keeper answers there; it
// must start one that outlives this process. It need not wait for it.
func NewClient(socket string, start func(ctx context.Context) error) *Client {
	return &Client{socket: socket, start: start}
}

// Ensure returns when a keeper answers. It starts one if none does; started reports whether it did.
func (c *Client) Ensure(ctx context.Context) (started bool, err error) {
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.answers(ctx) {
		return false, nil
	}
	if err := c.start(ctx); err != nil {
		return false, fmt.Errorf("start keeper: %w", err)
	}

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()

	for {
		if c.answers(ctx) {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("wait for keeper on %q: %w", c.socket, ctx.Err())
		case <-tick.C:
		}
	}
}

// answers reports whether a keeper lives. A connection proves nothing: the socket of a killed process accepts
// connections until the kernel has removed the process.
func (c *Client) answers(ctx context.Context) bool {
	err := c.call(ctx, request{Op: opPing})
	var refused refusal
	return err == nil || errors.As(err, &refused) // a keeper of an earlier version refuses
}

// Watch returns a channel that is closed when the keeper or ctx ends. It is an error if no keeper answers. tell, unless
// nil, is called with what the keeper has to say, also from before; of several who watch with one, each gets a part.
func (c *Client) Watch(ctx context.Context, tell func(Message)) (ended <-chan struct{}, err error) {
	conn, r, err := c.send(ctx, request{Op: opWatch, Messages: tell != nil})
	if err != nil {
		return nil, err
	}

	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer conn.Close()
		defer stop()

		// Without a tell nothing is sent. Either way this returns when the connection breaks.
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return
			}
			var m Message
			if err := json.Unmarshal(line, &m); err == nil && tell != nil {
				tell(m)
			}
		}
	}()

	return done, nil
}

// Open makes the keeper read a container's streams. To open what is open already is no error.
func (c *Client) Open(ctx context.Context, s Streams) error {
	return c.call(ctx, request{
		Op:      opOpen,
		ID:      s.ID,
		Streams: s,
	})
}

// Reopen makes the keeper open a container's log file anew.
func (c *Client) Reopen(ctx context.Context, id string) error {
	return c.call(ctx, request{Op: opReopen, ID: id})
}

// Drain returns when all output of a container has been written to its log.
func (c *Client) Drain(ctx context.Context, id string) error {
	return c.call(ctx, request{Op: opDrain, ID: id})
}

// Forget makes the keeper close a container's streams. To forget what is not there is no error.
func (c *Client) Forget(ctx context.Context, id string) error {
	return c.call(ctx, request{Op: opForget, ID: id})
}

// Carry makes the keeper join the streams of a program with connections, which follow. To carry what is carried already
// is no error.
func (c *Client) Carry(ctx context.Context, s Streams) error {
	return c.call(ctx, request{
		Op:      opCarry,
		ID:      s.ID,
		Streams: s,
	})
}

// ErrRefused says that a keeper does not take a connection: there is no such stream, or it has one, or had.
var ErrRefused = errors.New("the keeper does not take the connection")

// Connect gives the keeper a connection for a stream of a program, by its number. The caller's own end may be closed
// afterwards; a stream has one connection. The keeper writes the greeting to it first: whoever is at the other end has
// it only when the connection does not depend on the caller any more.
func (c *Client) Connect(ctx context.Context, id string, number int, conn interface {
	io.Writer
	syscall.Conn
}, greeting []byte,
) error {
	keeper, r, resp, err := c.ask(ctx, request{
		Op:       opConnect,
		ID:       id,
		Number:   number,
		Greeting: greeting,
	})
	if _, refused := errors.AsType[refusal](err); refused {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err != nil {
		return err
	}
	defer keeper.Close()
	if !resp.Greets {
		if _, err := conn.Write(greeting); err != nil {
			return fmt.Errorf("greet on the connection of a stream: %w", err)
		}
	}

	unixConn, ok := keeper.(*net.UnixConn)
	if !ok {
		return errors.New("give connection to keeper: it is on no Unix socket")
	}

	if err := send(ctx, unixConn, conn); err != nil {
		return fmt.Errorf("give connection to keeper: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = keeper.Close() })
	defer stop()
	if _, err := r.ReadByte(); err != nil {
		return fmt.Errorf("give connection to keeper: %w", err)
	}

	return nil
}

// EndInput ends the input of a program after what has been sent. awaits says that its connection, if there is none yet,
// is on its way.
func (c *Client) EndInput(ctx context.Context, id string, awaits bool) error {
	return c.call(ctx, request{
		Op:     opEndInput,
		ID:     id,
		Awaits: awaits,
	})
}

// AwaitTaken returns when the output of a program that has ended has been taken by who reads it, however slowly, or
// nobody adds to it any more. A keeper of an earlier version refuses it.
func (c *Client) AwaitTaken(ctx context.Context, id string) error {
	return c.call(ctx, request{Op: opAwaitTaken, ID: id})
}

// AwaitInput returns when the input of a program has ended.
func (c *Client) AwaitInput(ctx context.Context, id string) error {
	return c.call(ctx, request{Op: opAwaitInput, ID: id})
}

// LetGo makes the keeper forget a program that is no more. What it has written is still read.
func (c *Client) LetGo(ctx context.Context, s Streams) error {
	return c.call(ctx, request{
		Op:      opLetGo,
		ID:      s.ID,
		Streams: s,
	})
}

// Quit ends the keeper, and returns when it no longer answers.
func (c *Client) Quit(ctx context.Context) error {
	conn, r, err := c.send(ctx, request{Op: opQuit})
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_, _ = r.ReadByte() // Nothing is sent: the keeper closes the connection last.
	return ctx.Err()
}

func (c *Client) call(ctx context.Context, req request) error {
	conn, _, err := c.send(ctx, req)
	if err != nil {
		return err
	}
	return conn.Close()
}

// send sends a request and reads the response. The connection closes when ctx ends.
func (c *Client) send(ctx context.Context, req request) (net.Conn, *bufio.Reader, error) {
	conn, r, _, err := c.ask(ctx, req)
	return conn, r, err
}

// ask does what send does, and returns the response as well.
func (c *Client) ask(ctx context.Context, req request) (net.Conn, *bufio.Reader, response, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	if err != nil {
		return nil, nil, response{}, fmt.Errorf("connect to keeper: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()

	fail := func(err error) (net.Conn, *bufio.Reader, response, error) {
		_ = conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, nil, response{}, fmt.Errorf("ask keeper to %s %q: %w", req.Op, req.ID, err)
	}

	if err := writeJSON(conn, req); err != nil {
		return fail(err)
	}
	r := bufio.NewReaderSize(conn, maxFrame)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fail(err)
	}

	var resp response
	if err := json.Unmarshal(line, &resp); err != nil {
		return fail(err)
	}
	if resp.Error != "" {
		return fail(refusal(resp.Error))
	}
	return conn, r, resp, nil
}

// refusal is what a keeper answers to a request that it cannot fulfil.
type refusal string

func (r refusal) Error() string { return string(r) }

// AttachSpec is what Attach connects. Any of the streams may be nil.
type AttachSpec struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdinEnd, unless nil, is called when Stdin has ended. The keeper then closes its end of the container's input, as
	// soon as it has passed on everything before; without, the input stays open for the next client.
	StdinEnd func()
}

// Attach connects streams to those of a container until its output ends, the client's side breaks or ctx ends.
func (c *Client) Attach(ctx context.Context, id string, a AttachSpec) error {
	conn, r, err := c.send(ctx, request{
		Op:       opAttach,
		ID:       id,
		Stdin:    a.Stdin != nil,
		EndStdin: a.StdinEnd != nil,
	})
	if err != nil {
		return err
	}

	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()

	if a.Stdin != nil {
		go sendStdin(conn, a)
	}

	for {
		kind, data, err := readFrame(r)
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read streams of container %q: %w", id, err)
		}

		w := a.Stdout
		if kind == frameStderr {
			w = a.Stderr
		}
		if w == nil {
			continue
		}

		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("write streams of container %q: %w", id, err)
		}
	}
}

func sendStdin(conn io.Writer, a AttachSpec) {
	buf := make([]byte, 32*1024)
	for {
		n, err := a.Stdin.Read(buf)
		if n > 0 {
			if err := writeFrame(conn, frameStdin, buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			break
		}
	}

	// Should this not arrive, the connection is broken, which tells the keeper the same.
	_ = writeFrame(conn, frameStdinEnd, nil)
	if a.StdinEnd != nil {
		a.StdinEnd()
	}
}
