package parts

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeNetwork lacks what is in missing until it is mended, unless that fails.
type fakeNetwork struct {
	mu      sync.Mutex
	missing []string
	cannot  error
	look    chan struct{}
}

func (n *fakeNetwork) Up(context.Context) error { return nil }

func (n *fakeNetwork) Watch(ctx context.Context, look func(), _ func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.look:
			look()
		}
	}
}

func (n *fakeNetwork) Note() string { return "" }

func (n *fakeNetwork) Faults(context.Context) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.missing, nil
}

func (n *fakeNetwork) Mend(context.Context) (was []string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cannot != nil {
		return nil, n.cannot
	}
	was, n.missing = n.missing, nil
	return was, nil
}

func (n *fakeNetwork) lose(what string, cannot error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.missing, n.cannot = []string{what}, cannot
}

// What others take from the network is made again, logged, told, counted, and shown; what cannot be made again is shown
// as long as it lasts, and logged once.
func TestFabricMends(t *testing.T) {
	var log strings.Builder
	network := &fakeNetwork{look: make(chan struct{})}
	told := make(chan []string, 1)
	f := &Fabric{
		Network: network,
		Log:     slog.New(slog.NewTextHandler(&log, nil)),
		Mended: func(_ context.Context, what []string) error {
			told <- what
			return nil
		},
	}

	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.Describe() != "" || f.Repairs() != 0 || f.Probe(t.Context()) != nil {
		t.Errorf("a network that nobody has touched: %q", f.Describe())
	}

	network.lose("the table was gone", nil)
	if err := f.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "the table was gone") {
		t.Errorf("what is missing is answered with %v", err)
	}
	network.look <- struct{}{}
	if diff := cmp.Diff([]string{"the table was gone"}, <-told); diff != "" {
		t.Error(diff)
	}

	if f.Repairs() != 1 || !strings.Contains(f.Describe(), "the table was gone") || f.Probe(t.Context()) != nil {
		t.Errorf("afterwards: %d times, %q", f.Repairs(), f.Describe())
	}
	network.lose("the link was gone", errors.New("its name is taken"))
	for range 2 {
		network.look <- struct{}{}
	}

	if _, err := f.Mend(t.Context()); err == nil {
		t.Error("what cannot be mended is no error")
	}
	if err := f.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "its name is taken") {
		t.Errorf("what cannot be mended is answered with %v", err)
	}
	if err := f.Stop(t.Context()); err != nil {
		t.Error(err)
	}

	if n := strings.Count(log.String(), "its name is taken"); n != 1 {
		t.Errorf("it was logged %d times:\n%s", n, log.String())
	}
	if !strings.Contains(log.String(), "the table was gone") {
		t.Errorf("the log has\n%s", log.String())
	}
}

// A component that was never started can be stopped.
func TestFabricStop(t *testing.T) {
	if err := (&Fabric{}).Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
