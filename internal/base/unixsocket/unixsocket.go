// Package unixsocket owns Unix sockets as the project uses them: a listener in place of one that was left, a dialer
// that connects to one socket whatever the address, and HTTP over it. It does not know the content of requests.
package unixsocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds of an answer, in bytes: of JSON, and of the text of a refusal that is in the error.
const (
	mostJSON = 64 << 20
	mostText = 4096
)

// Listen listens on a socket at path, in place of the one that an earlier process has left there. Its mode is 0600. The
// folder must exist, and be one where nobody else can write.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// acceptPause is how long no client is let in when there was no room for one.
const acceptPause = 200 * time.Millisecond

// Accept waits for the next client of a listener. What keeps a client out but may be over soon is told to out, unless
// that is nil, and does not end the wait. An end of ctx does, and whatever else the listener says.
func Accept(ctx context.Context, l net.Listener, out func(error)) (net.Conn, error) {
	for {
		conn, err := l.Accept()
		if err == nil || ctx.Err() != nil || !passes(err) {
			return conn, err
		}

		if out != nil {
			out(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(acceptPause):
		}
	}
}

// passes reports whether what kept a client out may be over soon: the process or the machine has too many files open,
// or no memory, or the client is gone (https://man7.org/linux/man-pages/man2/accept.2.html).
func passes(err error) bool {
	for _, one := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// Answer answers on l until ctx ends: one request on each connection, for which there is as much time as within says.
// answer reads the request and returns what is sent back as JSON. failed is called with why an answer did not arrive.
func Answer(ctx context.Context, l net.Listener, within time.Duration, answer func(request io.Reader) any,
	failed func(error),
) error {
	var open sync.WaitGroup
	defer open.Wait()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()

	for {
		conn, err := Accept(ctx, l, nil)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}

		open.Go(func() {
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(within)) // a socket has deadlines
			if err := json.NewEncoder(conn).Encode(answer(conn)); err != nil {
				failed(err)
			}
		})
	}
}

// Dialer returns a function that connects to the socket at path, whatever network and address it is called with.
func Dialer(path string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
}

// Client sends HTTP requests to one server, on a Unix socket or where else a dialer connects to. Each request has a
// connection of its own.
type Client struct {
	transport *http.Transport
	timeout   time.Duration
}

// NewClient returns a client of the server that answers on the socket at path. The timeout bounds each Call.
func NewClient(path string, timeout time.Duration) *Client {
	dial := Dialer(path)
	return NewClientBy(func(ctx context.Context) (net.Conn, error) { return dial(ctx, "", "") }, timeout)
}

// NewClientBy returns a client of the server to which dial connects, which need not be on a Unix socket.
func NewClientBy(dial func(context.Context) (net.Conn, error), timeout time.Duration) *Client {
	return &Client{
		transport: &http.Transport{
			DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
			DisableKeepAlives: true,
		},
		timeout: timeout,
	}
}

// Call sends a request without a body and decodes the JSON of the answer, of at most 64 MiB, into v, unless v is nil. A
// status of 300 or more is an error with the answer's text.
func (c *Client) Call(ctx context.Context, method, path string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	resp, err := c.Open(ctx, method, path)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // all that is needed has been read

	if v == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, mostJSON)).Decode(v); err != nil {
		return fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}

	return nil
}

// Open sends a request without a body and returns the answer as soon as it begins. The timeout does not bound it. The
// caller closes the body.
func (c *Client) Open(ctx context.Context, method, path string) (*http.Response, error) {
	return c.Send(ctx, method, path, nil)
}

// Send is Open for a request with a body, unless that is nil.
func (c *Client) Send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://socket"+path, body)
	if err != nil {
		return nil, err
	}

	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}

	if resp.StatusCode >= http.StatusMultipleChoices {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, mostText)) // the error has the status in any case
		_ = resp.Body.Close()
		refusal := &StatusError{
			Code:   resp.StatusCode,
			Status: resp.Status,
			Text:   strings.TrimSpace(string(text)),
		}
		return nil, fmt.Errorf("%s %s: %w", method, path, refusal)
	}

	return resp, nil
}

// StatusError is an answer with a status of 300 or more.
type StatusError struct {
	Code         int
	Status, Text string
}

func (e *StatusError) Error() string { return e.Status + ": " + e.Text }
