package join

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/spec"
)

// room is a machine that joins. Its data folder is real, but no nodes run on it.
type room struct {
	// starts is what happens when the nodes are started; nil: they become Ready.
	starts func(context.Context, cluster.UpOptions) error
	// stays keeps Down from removing the data folder.
	stays bool
	taken []netip.Addr

	did []string
	up  spec.Cluster // what was started
}

// Prepare makes the data folder as package layout does, but for the folder under /run.
func (r *room) Prepare(paths layout.Paths) error {
	r.did = append(r.did, "prepare")
	if err := os.MkdirAll(paths.Data, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(paths.Data, "version"), []byte("1\n"), 0o600)
}

func (r *room) Taken(_ context.Context, _ string, address netip.Addr) bool {
	return slices.Contains(r.taken, address)
}

// Start saves the specification, as the real one does first.
func (r *room) Start(ctx context.Context, o cluster.UpOptions) (spec.Cluster, error) {
	r.did, r.up = append(r.did, "start"), o.Spec
	if err := o.Paths.SaveSpec(o.Spec); err != nil {
		return o.Spec, err
	}
	if r.starts == nil {
		return o.Spec, nil
	}
	return o.Spec, r.starts(ctx, o)
}

func (r *room) Stop(context.Context, layout.Paths) error {
	r.did = append(r.did, "stop")
	return nil
}

func (r *room) Down(_ context.Context, paths layout.Paths) error {
	r.did = append(r.did, "down")
	if r.stays {
		return nil
	}
	return os.RemoveAll(paths.Data)
}

// story is what a join said.
type story struct {
	mu    sync.Mutex
	steps []string
}

func (s *story) add(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, step)
}

// joins returns a join by token to that API, of one Windows node, on a machine with nothing on it.
func joins(t *testing.T, a *api) (*joining, *room, *story) {
	t.Helper()
	r, s := &room{}, &story{}
	return &joining{
		Options: Options{
			Address: netip.MustParseAddr("192.0.2.7"),
			Nodes:   []spec.Node{{OS: spec.Windows}},
			Paths:   layout.Paths{Data: filepath.Join(t.TempDir(), "data")},
			Said:    s.add,
		},
		machine: r,
		found:   discovery.Cluster{Server: a.url, CA: a.ca},
		token:   theToken,
		client:  a,
		holder:  "us",
	}, r, s
}

// exists says whether there is such a file.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
