package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"mullion.dev/mullion/internal/runtime/admission"
)

// tellLoad answers how busy the node is with starting programs.
func (a Agent) tellLoad(w http.ResponseWriter, _ *http.Request) {
	load, ok := admission.Load{}, false
	if a.Load != nil {
		load, ok = a.Load()
	}
	if !ok {
		http.Error(w, "the containers are not known yet", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(load); err != nil {
		a.Log.Warn("answer about the load", "error", err)
	}
}

// Load returns how busy the node is with starting programs.
func (c *Client) Load(ctx context.Context) (admission.Load, error) {
	var l admission.Load
	err := c.do(ctx, http.MethodGet, "/v1/load", &l)
	return l, err
}
