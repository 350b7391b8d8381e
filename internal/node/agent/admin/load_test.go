package admin_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/node/agent/admin"
	"mullion.dev/mullion/internal/runtime/admission"
)

// TestLoad: the figures arrive as they are, and an agent that does not know its containers yet says so.
func TestLoad(t *testing.T) {
	want := admission.Load{
		Places: 3, Execs: 7, Waited: 2, Longest: time.Second, Late: 1, Orphans: 4,
		Pods: []admission.PodLoad{{Pod: admission.Pod{Namespace: "default", Name: "web"}, NotStarted: 2, Asked: 5}},
	}
	known := false
	c := admin.NewClient(serveAgent(t, admin.Agent{
		HNS: &service{}, Level: logging.NewDial(logging.Info), Log: slog.New(slog.DiscardHandler),
		Load: func() (admission.Load, bool) { return want, known },
	}))

	if l, err := c.Load(t.Context()); err == nil {
		t.Errorf("figures of containers that are not known: %+v", l)
	}
	known = true
	got, err := c.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
