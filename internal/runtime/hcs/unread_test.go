package hcs

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/runtime/engine"
)

// TestUnread: a compute system ends whose sockets hold too much, and no other one.
func TestUnread(t *testing.T) {
	h := newHost(t)
	system := h.ok(t, "HcsCreateComputeSystem", "hoards", h.document(t, nil))
	h.ok(t, "HcsStartComputeSystem", "hoards")
	first := h.ok(t, "HcsCreateProcess", "hoards", allStreams)
	limit := func(bytes int64) { h.engine.Hoard(h.nameOf("hoards"), bytes) }
	limit(engine.MostUnread)
	h.boundOnce()
	if text := h.ok(t, "HcsEnumerateComputeSystems", "").Text; !strings.Contains(text, `"Running"`) {
		t.Errorf("at the bound there is %s", text)
	}

	limit(engine.MostUnread + 1)
	if e := event(t, first.Events); e.Type != ProcessExited || !strings.Contains(e.Text, `"ExitCode":1067`) {
		t.Errorf("the process is told %+v", e)
	}
	if e := event(t, system.Events); e.Type != SystemExited || !strings.Contains(e.Text, forcedExit) {
		t.Errorf("the end is told as %+v", e)
	}
}
