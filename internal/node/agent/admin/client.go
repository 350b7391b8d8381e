package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// answerTimeout bounds a call: comparing thousands of load balancers with the kernel takes seconds.
const answerTimeout = 60 * time.Second

// Client asks the agent of one host.
type Client struct{ http *http.Client }

// NewClient is a client of the agent that answers on the socket.
func NewClient(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return &Client{&http.Client{Timeout: answerTimeout, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Diagnose says what HNS means to have in the kernel, and what differs.
func (c *Client) Diagnose(ctx context.Context) (Diagnosis, error) {
	var d Diagnosis
	err := c.do(ctx, http.MethodGet, "/v1/hns", &d)
	return d, err
}

// RestartHNS restarts the host's HNS and returns when it answers again.
func (c *Client) RestartHNS(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/hns/restart", nil)
}

func (c *Client) do(ctx context.Context, method, path string, v any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://agent"+path, nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask the node's agent: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return fmt.Errorf("the node's agent answers %s: %s", resp.Status, strings.TrimSpace(string(text)))
	}
	if v == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(v)
}
