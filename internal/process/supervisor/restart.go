package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// restarted is the answer to a request to restart a unit.
type restarted struct {
	// Error is why the unit is not ready again, "" where it is.
	Error string `json:"error,omitempty"`
}

// restart stops a unit and starts it again. A client that goes away does not keep it from that, as the unit would be
// left half way.
func (s *server) restart(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	var answer restarted
	if err := s.manager.Restart(ctx, r.PathValue("unit")); err != nil {
		answer.Error = err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.cfg.Log.Warn("answer a request to restart a unit", "error", err)
	}
}

// Restart has a unit stopped and started again, and returns when it is ready: an error says why it is not. Those that
// wait for it stay as they are.
func (c *Client) Restart(ctx context.Context, unit string) error {
	resp, err := c.socket.Open(ctx, http.MethodPost, "/v1/restart/"+(&url.URL{Path: unit}).EscapedPath())
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // all that is needed has been read
	var answer restarted
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("read the answer to a restart of %q: %w", unit, err)
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}
