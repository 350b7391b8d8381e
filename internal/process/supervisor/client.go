package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// answerTimeout bounds a question; asking the units takes probeTimeout at most.
const answerTimeout = probeTimeout + 4*time.Second

// Client asks a supervisor over its Unix socket.
type Client struct{ http *http.Client }

// NewClient is a client of the supervisor that answers on the Unix socket at path.
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	return &Client{http: &http.Client{Timeout: answerTimeout, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Status asks how the units are; an error means that no supervisor answers.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	err := c.do(ctx, http.MethodGet, "/v1/status", func(r io.Reader) error { return json.NewDecoder(r).Decode(&s) })
	return s, err
}

// Health is Status, with each unit asked whether it works at this moment.
func (c *Client) Health(ctx context.Context) (Status, error) {
	var s Status
	err := c.do(ctx, http.MethodGet, "/v1/health", func(r io.Reader) error { return json.NewDecoder(r).Decode(&s) })
	return s, err
}

// Stop asks the supervisor to stop its units and end. It returns at once; Status fails when the supervisor is gone.
func (c *Client) Stop(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/stop", func(io.Reader) error { return nil })
}

func (c *Client) do(ctx context.Context, method, path string, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://supervisor"+path, nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return read(resp.Body)
}
