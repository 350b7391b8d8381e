package supervisor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// pause makes a unit's process stand still as long as the request lasts: until the client ends it or is gone, even by
// kill -9, or the units are to be stopped.
func (s *server) pause(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("unit")
	i, ok := s.index[name]
	if !ok {
		http.Error(w, fmt.Sprintf("there is no unit %q", name), http.StatusNotFound)
		return
	}
	p, ok := s.cfg.Units[i].Component.(pauser)
	if !ok {
		http.Error(w, fmt.Sprintf("unit %q is no process", name), http.StatusConflict)
		return
	}
	resume, err := p.Pause()
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	s.cfg.Log.Info("unit stands still", "name", name)
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err == nil {
		select {
		case <-r.Context().Done():
		case <-s.stopping:
		}
	}
	if err := resume(); err != nil {
		s.cfg.Log.Error("unit", "name", name, "error", err)
		return
	}
	s.cfg.Log.Info("unit goes on", "name", name)
}

// Pause makes a unit's process stand still until resume is called, this process is gone, or the cluster is stopped. The
// end of ctx does not resume the process.
func (c *Client) Pause(ctx context.Context, unit string) (resume func(), err error) {
	held, cancel := context.WithCancel(context.WithoutCancel(ctx))
	resp, err := c.socket.Open(held, http.MethodPost, "/v1/pause/"+(&url.URL{Path: unit}).EscapedPath())
	if err != nil {
		cancel()
		return nil, err
	}
	return func() {
		cancel()
		_ = resp.Body.Close() // nothing is read from it
	}, nil
}
