package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"mullion.dev/mullion/internal/base/logging"
)

// Levels are those of the agent's log: Usual is what its configuration says, Now is lower while somebody holds it.
type Levels struct {
	Usual logging.Level `json:"usual"`
	Now   logging.Level `json:"now"`
}

func (a Agent) tellLevel(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(Levels{Usual: a.Level.Usual(), Now: a.Level.Now()}); err != nil {
		a.Log.Warn("answer about the log's level", "error", err)
	}
}

// named returns the level that a request names. If it is none, the request has been answered.
func named(w http.ResponseWriter, r *http.Request) (logging.Level, bool) {
	level, err := logging.Parse(r.PathValue("level"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return level, err == nil
}

func (a Agent) setLevel(w http.ResponseWriter, r *http.Request) {
	level, ok := named(w, r)
	if !ok {
		return
	}
	if before := a.Level.Usual(); before != level {
		a.Level.Set(level)
		a.Log.Warn("the log's level was changed by request", "from", before, "to", level)
	}
	w.WriteHeader(http.StatusNoContent)
}

// holdLevel holds the level as long as the connection lives. It ends with the process that asked, however that ends, so
// no level is left behind.
func (a Agent) holdLevel(w http.ResponseWriter, r *http.Request) {
	level, ok := named(w, r)
	if !ok {
		return
	}
	release := a.Level.Hold(level)
	defer release()

	w.WriteHeader(http.StatusOK)
	if http.NewResponseController(w).Flush() != nil {
		return
	}
	<-r.Context().Done()
}

// Levels returns the levels of the agent's log.
func (c *Client) Levels(ctx context.Context) (Levels, error) {
	var l Levels
	err := c.do(ctx, http.MethodGet, "/v1/log", &l)
	return l, err
}

// SetLevel changes the usual level of the agent's log, until the agent ends.
func (c *Client) SetLevel(ctx context.Context, level logging.Level) error {
	return c.do(ctx, http.MethodPut, "/v1/log/"+level.String(), nil)
}

// HoldLevel has at least everything logged that the level has, until ctx or this process ends. It returns when that is
// so; ended is closed when it is no longer so, because the agent has ended or ctx has.
func (c *Client) HoldLevel(ctx context.Context, level logging.Level) (ended <-chan struct{}, err error) {
	resp, err := c.socket.Open(ctx, http.MethodPost, "/v1/log/"+level.String()+"/hold")
	if err != nil {
		return nil, fmt.Errorf("ask the node's agent: %w", err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = io.Copy(io.Discard, resp.Body) // nothing comes before the end
		_ = resp.Body.Close()
	}()
	return over, nil
}
