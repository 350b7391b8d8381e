package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/process/component"
)

// mended is the answer to a request to mend.
type mended struct {
	// What was missing, and was made again; Error is why something was not.
	What  []string `json:"what"`
	Error string   `json:"error,omitempty"`
}

// mend has the units look at once whether somebody has changed what they look after.
func (s *server) mend(w http.ResponseWriter, r *http.Request) {
	ctx := context.WithoutCancel(r.Context()) // a client that goes away leaves nothing half mended
	status, units := s.nowOf()
	answer := mended{What: []string{}}
	var errs []error
	for i, u := range units {
		m, ok := u.Component.(mender)
		if !ok || status.Units[i].State != component.Ready {
			continue
		}
		what, err := m.Mend(ctx)
		answer.What = append(answer.What, what...)
		errs = append(errs, err)
	}

	if err := errors.Join(errs...); err != nil {
		answer.Error = err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.cfg.Log.Warn("answer a request to mend", "error", err)
	}
}

// Mend has the supervisor look at once whether others have changed what its units look after, and returns what it made
// again. An older supervisor does not know the request, and mends nothing.
func (c *Client) Mend(ctx context.Context) (what []string, err error) {
	resp, err := c.socket.Open(ctx, http.MethodPost, "/v1/mend")
	if refusal, ok := errors.AsType[*unixsocket.StatusError](err); ok && refusal.Code == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // all that is needed has been read
	var answer mended
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("read the supervisor's answer: %w", err)
	}

	if answer.Error != "" {
		return answer.What, errors.New(answer.Error)
	}
	return answer.What, nil
}
