package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Notice is what happened to a pod of the host, for an event of the pod.
type Notice struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	UID       string `json:"uid"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
}

// tellNotices writes notices as they come, a line of JSON each, until who reads them leaves. Each is told once.
func (a Agent) tellNotices(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/jsonl")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	if flush.Flush() != nil {
		return
	}

	for {
		select {
		case <-r.Context().Done():
			return
		case n := <-a.Notices:
			if json.NewEncoder(w).Encode(n) != nil || flush.Flush() != nil {
				a.Log.Warn("notice not told", "pod", n.Namespace+"/"+n.Pod, "message", n.Message)
				return
			}
		}
	}
}

// Notices calls told with what happens to pods of the host, and with what has happened since somebody asked, until ctx
// ends. One reader at a time gets each.
func (c *Client) Notices(ctx context.Context, told func(Notice)) error {
	resp, err := c.socket.Open(ctx, http.MethodGet, "/v1/notices")
	if err != nil {
		return fmt.Errorf("ask the node's agent: %w", err)
	}
	defer resp.Body.Close()

	for lines := json.NewDecoder(resp.Body); ; {
		var n Notice
		switch err := lines.Decode(&n); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("read what the node's agent tells: %w", err)
		}
		told(n)
	}
}
