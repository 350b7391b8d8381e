package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"mullion.dev/mullion/internal/process/component"
)

// changed is the answer to a request to start or stop units.
type changed struct {
	// Error is why the units are not as was asked, "" where they are.
	Error string `json:"error,omitempty"`
}

// change answers a request that starts or stops units. A client that goes away does not keep it from that, as the units
// would be left half way.
func (s *server) change(do func(ctx context.Context, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
		defer cancel()
		go func() {
			select {
			case <-s.stopping:
				cancel()
			case <-ctx.Done():
			}
		}()

		var answer changed
		if err := do(ctx, r); err != nil {
			answer.Error = err.Error()
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			s.cfg.Log.Warn("answer a request to start or stop units", "error", err)
		}
	}
}

func (s *server) restart(ctx context.Context, r *http.Request) error {
	id, err := component.ParseID(r.PathValue("unit"))
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}

	return s.manager.Restart(ctx, id)
}

func (s *server) startUnits(ctx context.Context, r *http.Request) error {
	ids, err := asked(r)
	if err != nil {
		return fmt.Errorf("start units: %w", err)
	}

	return s.manager.StartUnits(ctx, ids)
}

func (s *server) stopUnits(ctx context.Context, r *http.Request) error {
	ids, err := asked(r)
	if err != nil {
		return fmt.Errorf("stop units: %w", err)
	}

	return s.manager.StopUnits(ctx, ids)
}

// asked returns the units that a request names.
func asked(r *http.Request) ([]component.ID, error) {
	var ids []component.ID
	for _, text := range r.URL.Query()["unit"] {
		id, err := component.ParseID(text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}

	return ids, nil
}

// Restart has a unit stopped and started again, and returns when it is ready: an error says why it is not. Those that
// wait for it stay as they are.
func (c *Client) Restart(ctx context.Context, unit component.ID) error {
	return c.change(ctx, "/v1/restart/"+escaped(unit))
}

// StartUnits has units started that are not ready, and returns when all are: an error says why one is not, and then
// those that it started are stopped again.
func (c *Client) StartUnits(ctx context.Context, units []component.ID) error {
	return c.change(ctx, "/v1/units/start?"+url.Values{"unit": component.Texts(units)}.Encode())
}

// StopUnits has units stopped, until StartUnits or the supervisor's own end. Others that wait for them stay as they
// are.
func (c *Client) StopUnits(ctx context.Context, units []component.ID) error {
	return c.change(ctx, "/v1/units/stop?"+url.Values{"unit": component.Texts(units)}.Encode())
}

// escaped returns a unit's place in a request's path.
func escaped(unit component.ID) string { return (&url.URL{Path: unit.String()}).EscapedPath() }

func (c *Client) change(ctx context.Context, path string) error { return c.changeBy(ctx, path, nil) }

// changeBy is change with a body.
func (c *Client) changeBy(ctx context.Context, path string, body io.Reader) error {
	resp, err := c.socket.Send(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // all that is needed has been read
	var answer changed
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("read the supervisor's answer: %w", err)
	}
	if answer.Error != "" {
		return &UnitsError{answer.Error}
	}
	return nil
}

// UnitsError says that a supervisor has carried out a request to start or stop units, and why they are not as was
// asked.
type UnitsError struct{ Why string }

func (e *UnitsError) Error() string { return e.Why }
