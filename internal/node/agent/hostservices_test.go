package agent

import (
	"log/slog"
	"slices"
	"testing"

	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

// TestHostServices holds that every service whose pipe the host has is served, and that none else is.
func TestHostServices(t *testing.T) {
	a := &agent{config: agentconfig.Config{Drive: "/c"}, log: slog.New(slog.DiscardHandler)}
	var served []hostcall.Name
	for _, s := range a.hostServices(winhost.Host{Shares: "/shares", Volumes: "/volumes"}) {
		served = append(served, s.service.Name())
		if s.where == "" {
			t.Errorf("%s is not served on a new host", s.service.Name())
		}
	}
	if !slices.Equal(served, hostcall.Names()) {
		t.Errorf("%v are served, and the host has pipes for %v", served, hostcall.Names())
	}
	for _, s := range a.hostServices(winhost.Host{}) {
		if s.where != "" {
			t.Errorf("%s is served on a host that was made without", s.service.Name())
		}
	}
}
