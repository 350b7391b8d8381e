package parts

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/network/tcpbalancer"
)

// The endpoint says which hosts answer; it can be stopped, and started again.
func TestEndpoint(t *testing.T) {
	checks := map[string]error{"a": nil, "b": errors.New("GET /readyz: 500 Internal Server Error")}
	e := &Endpoint{
		Address: "10.213.0.10:6443",
		Balancer: tcpbalancer.New(tcpbalancer.Config{
			Servers:  []tcpbalancer.Server{{Name: "linux-1", Address: "a"}, {Name: "linux-2", Address: "b"}},
			Dial:     (&net.Dialer{}).DialContext,
			Check:    func(_ context.Context, address string) error { return checks[address] },
			Interval: time.Millisecond,
			Log:      slog.New(slog.DiscardHandler),
		}),
		Listen: func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
		Log:    slog.New(slog.DiscardHandler),
	}

	if err := e.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if got, want := e.Describe(), "10.213.0.10:6443: no control plane of kubeadm's answers"; got != want {
		t.Errorf("before the start: %q, want %q", got, want)
	}

	const want = "10.213.0.10:6443 leads to linux-1 (0); not to linux-2: GET /readyz: 500 Internal Server Error"
	for range 2 {
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); e.Describe() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%q, want %q", e.Describe(), want)
			}
		}

		if err := e.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}

	e.Listen = func() (net.Listener, error) { return nil, errors.New("in use") }
	if err := e.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "10.213.0.10:6443") {
		t.Errorf("start: %v", err)
	}
}
