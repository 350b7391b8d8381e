package supervisor

import (
	"context"
	"fmt"
	"net/http"

	"mullion.dev/mullion/internal/process/component"
)

// pause makes a unit's process stand still as long as the request lasts: until the client ends it or is gone, even by
// kill -9, or the units are to be stopped.
func (s *server) pause(w http.ResponseWriter, r *http.Request) {
	text := r.PathValue("unit")
	id, err := component.ParseID(text)
	u, ok := s.of(id)
	if err != nil || !ok {
		http.Error(w, fmt.Sprintf("there is no unit %q", text), http.StatusNotFound)
		return
	}

	p, ok := u.Component.(pauser)
	if !ok {
		http.Error(w, fmt.Sprintf("unit %q is no process", id), http.StatusConflict)
		return
	}

	resume, err := p.Pause()
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}

	s.cfg.Log.Info("unit stands still", "name", id)
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err == nil {
		select {
		case <-r.Context().Done():
		case <-s.stopping:
		}
	}

	if err := resume(); err != nil {
		s.cfg.Log.Error("unit", "name", id, "error", err)
		return
	}
	s.cfg.Log.Info("unit goes on", "name", id)
}

// Pause makes a unit's process stand still until resume is called, this process is gone, or the cluster is stopped. The
// end of ctx does not resume the process.
func (c *Client) Pause(ctx context.Context, unit component.ID) (resume func(), err error) {
	held, cancel := context.WithCancel(context.WithoutCancel(ctx))
	resp, err := c.socket.Open(held, http.MethodPost, "/v1/pause/"+escaped(unit))
	if err != nil {
		cancel()
		return nil, err
	}
	return func() {
		cancel()
		_ = resp.Body.Close() // nothing is read from it
	}, nil
}
