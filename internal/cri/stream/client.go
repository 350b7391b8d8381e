package stream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Client talks to a keeper.
type Client struct {
	socket string
	start  func(ctx context.Context) error
}

// NewClient returns a client of the keeper on the Unix socket path. start is called when no keeper answers there; it
// must start one that outlives this process. It need not wait for it.
func NewClient(socket string, start func(ctx context.Context) error) *Client {
	return &Client{socket: socket, start: start}
}

// Ensure returns when a keeper answers, started if need be, and tells whether it was.
func (c *Client) Ensure(ctx context.Context) (started bool, err error) {
	if conn, err := net.Dial("unix", c.socket); err == nil {
		return false, conn.Close()
	}
	if err := c.start(ctx); err != nil {
		return false, fmt.Errorf("start keeper: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := net.Dial("unix", c.socket); err == nil {
			return true, conn.Close()
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("wait for keeper on %q: %w", c.socket, ctx.Err())
		case <-tick.C:
		}
	}
}

// Open makes the keeper read a container's streams. To open what is open already is no error.
func (c *Client) Open(ctx context.Context, s Streams) error {
	return c.call(ctx, request{Op: opOpen, ID: s.ID, Streams: s})
}

// Reopen makes the keeper open a container's log file anew.
func (c *Client) Reopen(ctx context.Context, id string) error {
	return c.call(ctx, request{Op: opReopen, ID: id})
}

// Drain returns when all output of a container has been written to its log.
func (c *Client) Drain(ctx context.Context, id string) error {
	return c.call(ctx, request{Op: opDrain, ID: id})
}

// EndStdin makes the keeper close its end of a container's input.
func (c *Client) EndStdin(ctx context.Context, id string) error {
	return c.call(ctx, request{Op: opEnd, ID: id})
}

// Forget makes the keeper close a container's streams. To forget what is not there is no error.
func (c *Client) Forget(ctx context.Context, id string) error {
	return c.call(ctx, request{Op: opForget, ID: id})
}

// Quit ends the keeper.
func (c *Client) Quit(ctx context.Context) error {
	return c.call(ctx, request{Op: opQuit})
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
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to keeper: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	fail := func(err error) (net.Conn, *bufio.Reader, error) {
		_ = conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, nil, fmt.Errorf("ask keeper to %s %q: %w", req.Op, req.ID, err)
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
		return fail(errors.New(resp.Error))
	}
	return conn, r, nil
}

// AttachSpec is what Attach connects. Any of the streams may be nil.
type AttachSpec struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdinEnd is called when Stdin has ended.
	StdinEnd func()
}

// Attach connects streams to those of a container until its output ends, the client's side breaks or ctx ends.
func (c *Client) Attach(ctx context.Context, id string, a AttachSpec) error {
	conn, r, err := c.send(ctx, request{Op: opAttach, ID: id, Stdin: a.Stdin != nil})
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
	if err := writeFrame(conn, frameStdinEnd, nil); err == nil && a.StdinEnd != nil {
		a.StdinEnd()
	}
}
