package agent

import (
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/hostservices/keeper"
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

// TestKeepers holds that the program does what each command of a keeper says: without a word it ends, and complains of
// what it was not told. It runs as a process of its own, whose memory is bounded.
func TestKeepers(t *testing.T) {
	const command = "MULLION_TEST_KEEPER"
	if os.Getenv(command) != "" {
		err := Run(t.Context(), Env{
			Args: []string{os.Getenv(command), "name"},
			In:   strings.NewReader(""),
			Out:  io.Discard,
			Err:  io.Discard,
		})
		t.Fatal(err)
	}

	for _, c := range append(keeper.Commands(), keeper.Targets) {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestKeepers$")
		again.Env = append(os.Environ(), command+"="+c)
		if out, err := again.CombinedOutput(); err == nil || !strings.Contains(string(out), ": EOF") {
			t.Errorf("%s: %v\n%s", c, err, out)
		}
	}
}
