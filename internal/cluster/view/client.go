package view

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client asks a cluster on its socket.
type Client struct{ socket string }

// NewClient returns a client of the cluster whose socket is at path.
func NewClient(path string) Client { return Client{socket: path} }

// dialTimeout bounds the connection: the server accepts at once.
const dialTimeout = 5 * time.Second

// callTimeout bounds a Call, to a server that stands still too.
const callTimeout = time.Minute

// Path returns a path of the table with words in the place of those in braces. A word cannot lead to another request.
func Path(words ...string) string {
	escaped := make([]string, len(words))
	for i, w := range words {
		if escaped[i] = url.PathEscape(w); strings.Trim(w, ".") == "" { // they would be taken for folders
			escaped[i] = strings.ReplaceAll(w, ".", "%2E")
		}
	}
	return strings.Join(escaped, "/")
}

// Call asks for a Path, and decodes the answer into v.
func (c Client) Call(ctx context.Context, path string, query url.Values, v any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := c.Open(ctx, path, query)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }() // all that is needed has been read
	text, err := io.ReadAll(answer)
	if err != nil {
		return err
	}

	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read the answer to %q: %w", path, err)
	}
	return nil
}

// Open asks for a Path, and returns the answer when it begins. A refusal is a *KindError, and so is what the body's
// Read returns where the answer ends before its end.
func (c Client) Open(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "unix", c.socket)
	if err != nil {
		return nil, err
	}

	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	answer, err := ask(ctx, conn, path, query)
	if err != nil {
		stop()
		_ = conn.Close() // the error says enough
		return nil, err
	}

	answer.ctx, answer.close = ctx, func() error {
		stop()
		return conn.Close()
	}
	return answer, nil
}

func ask(ctx context.Context, conn net.Conn, path string, query url.Values) (*body, error) {
	at := "http://view" + root + path
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}

	// Who is turned away is answered unread, so it is no error yet that not all was taken.
	sent := req.Write(conn)
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return nil, errors.Join(ctx.Err(), sent, fmt.Errorf("read the answer to %q: %w", path, err))
	}
	if resp.StatusCode == http.StatusOK {
		return &body{resp: resp}, nil
	}

	text, _ := io.ReadAll(io.LimitReader(resp.Body, mostOfRefusal)) // the status says enough without it
	var r refusal
	if err := json.Unmarshal(text, &r); err != nil || r.Error == "" {
		r = refusal{Kind: kindOf(resp.StatusCode), Error: strings.TrimSpace(resp.Status)}
	}

	return nil, &KindError{Kind: r.Kind, Err: errors.New(r.Error)}
}

// mostOfRefusal is how much of a refusal is read, in bytes.
const mostOfRefusal = 64 << 10

// body is an answer that is being read.
type body struct {
	resp  *http.Response
	ctx   context.Context //nolint:containedctx // it lives as long as one request
	close func() error
}

// Read reads on; at the end it looks whether the server could say all.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.resp.Body.Read(p)
	if err == nil {
		return n, nil
	}
	if b.ctx.Err() != nil {
		return n, b.ctx.Err()
	}
	var r refusal
	if text := b.resp.Trailer.Get(errorTrailer); text != "" && json.Unmarshal([]byte(text), &r) == nil {
		return n, &KindError{Kind: r.Kind, Err: errors.New(r.Error)}
	}
	return n, err
}

// Close ends the reading.
func (b *body) Close() error { return b.close() }
