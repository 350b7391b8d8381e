package single

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// aService is an engine with a register alone.
func aService(t *testing.T, r *register) *service {
	t.Helper()
	return &service{
		options:  Options{Log: slog.New(slog.DiscardHandler)},
		register: r,
		idle:     newIdle(time.Hour, func() {}),
	}
}

// ends checks that what an engine does in the background comes to its end.
func ends(t *testing.T, s *service, what string) {
	t.Helper()
	over := make(chan struct{})
	go func() { s.background.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(10 * time.Second):
		t.Errorf("the engine waits for %s", what)
	}
}

// TestEndBesideClient: a client that does not read does not keep the engine from ending.
func TestEndBesideClient(t *testing.T) {
	r := opened(t, At(t.TempDir(), ""))
	// More than a socket takes.
	long := Run{Labels: map[string]string{"long": strings.Repeat("x", 8<<20)}}
	if err := r.add(&container{id: "aa11", ask: long}); err != nil {
		t.Fatal(err)
	}
	s := aService(t, r)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.background.Go(func() { _ = s.accept(ctx, l) })

	client, err := (&net.Dialer{}).DialContext(t.Context(), "unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := json.NewEncoder(client).Encode(Request{List: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 1)); err != nil { // the answer has begun
		t.Fatal(err)
	}
	cancel()
	ends(t, s, "a client that does not read")
}

// TestEndBesideRemoval: the engine's end does not wait for what is removed of an earlier one's volumes.
func TestEndBesideRemoval(t *testing.T) {
	r := opened(t, At(t.TempDir(), ""))
	removing := make(chan struct{})
	defer close(removing)
	r.clearVolumes = func() error { <-removing; return nil }
	s := aService(t, r)
	s.clearLeft()
	ends(t, s, "what is removed")
}
