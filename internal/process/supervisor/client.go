package supervisor

import (
	"context"
	"net/http"
	"time"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/base/unixsocket"
)

// answerTimeout bounds a request; the supervisor takes probeTimeout at most to ask the units.
const answerTimeout = probeTimeout + 4*time.Second

// Client asks a supervisor over its Unix socket.
type Client struct{ socket *unixsocket.Client }

// NewClient returns a client of the supervisor that answers on the Unix socket at path.
func NewClient(path string) *Client { return &Client{unixsocket.NewClient(path, answerTimeout)} }

// Status returns the states of the units; an error means that no supervisor answers.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	err := c.socket.Call(ctx, http.MethodGet, "/v1/status", &s)
	return s, err
}

// Health is Status, with each unit asked whether it works at this moment.
func (c *Client) Health(ctx context.Context) (Status, error) {
	var s Status
	err := c.socket.Call(ctx, http.MethodGet, "/v1/health", &s)
	return s, err
}

// SetLogLevel changes how much the supervisor logs, until it ends.
func (c *Client) SetLogLevel(ctx context.Context, level logging.Level) error {
	return c.socket.Call(ctx, http.MethodPut, "/v1/log/"+level.String(), nil)
}

// Stop asks the supervisor to stop its units and end. It returns at once; Status fails when the supervisor is gone.
func (c *Client) Stop(ctx context.Context) error {
	return c.socket.Call(ctx, http.MethodPost, "/v1/stop", nil)
}
