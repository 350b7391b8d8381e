package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/network/hns"
)

// answerTimeout bounds a call: comparing thousands of load balancers with the kernel takes seconds.
const answerTimeout = 60 * time.Second

// Client asks the agent of one host.
type Client struct{ socket *unixsocket.Client }

// NewClient returns a client of the agent that answers on the socket.
func NewClient(socket string) *Client { return &Client{unixsocket.NewClient(socket, answerTimeout)} }

// Diagnose returns HNS' plan for the kernel, and how the kernel differs from it.
func (c *Client) Diagnose(ctx context.Context) (Diagnosis, error) {
	var d Diagnosis
	err := c.do(ctx, http.MethodGet, "/v1/hns", &d)
	return d, err
}

// RestartHNS restarts the host's HNS and returns when it answers again.
func (c *Client) RestartHNS(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/hns/restart", nil)
}

// Trace calls told with each call that a program makes of the host's HNS, until ctx ends or told returns an error.
func (c *Client) Trace(ctx context.Context, told func(hns.TracedCall) error) error {
	resp, err := c.socket.Open(ctx, http.MethodGet, "/v1/hns/trace")
	if err != nil {
		return fmt.Errorf("ask the node's agent: %w", err)
	}
	defer resp.Body.Close()

	for lines := json.NewDecoder(resp.Body); ; {
		var call hns.TracedCall
		switch err := lines.Decode(&call); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("read what the node's agent tells: %w", err)
		}

		if err := told(call); err != nil {
			return err
		}
	}
}

func (c *Client) do(ctx context.Context, method, path string, v any) error {
	if err := c.socket.Call(ctx, method, path, v); err != nil {
		return fmt.Errorf("ask the node's agent: %w", err)
	}
	return nil
}
