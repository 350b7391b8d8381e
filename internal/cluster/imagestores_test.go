package cluster_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/spec"
)

// mixed returns a cluster with nodes of both systems.
func mixed() spec.Cluster {
	return spec.Cluster{Nodes: []spec.Node{
		{Name: "linux-1", OS: spec.Linux},
		{Name: "win-1", OS: spec.Windows},
		{Name: "linux-2", OS: spec.Linux},
		{Name: "win-2", OS: spec.Windows},
	}}
}

func TestImageStoresOf(t *testing.T) {
	both := cluster.ImageStores{Windows: true, Linux: []string{"linux-1", "linux-2"}}
	for _, tt := range []struct {
		name  string
		nodes []string
		want  cluster.ImageStores
	}{
		{"all", nil, both},
		{"a-windows-node", []string{"win-2"}, cluster.ImageStores{Windows: true}},
		{"a-linux-node", []string{"linux-2"}, cluster.ImageStores{Linux: []string{"linux-2"}}},
		{"one-of-each", []string{"linux-1", "win-1"}, cluster.ImageStores{Windows: true, Linux: []string{"linux-1"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cluster.ImageStoresOf(mixed(), tt.nodes)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}

	own := mixed()
	own.Nodes[3].Runtime = spec.RuntimeContainerd
	got, err := cluster.ImageStoresOf(own, nil)
	want := cluster.ImageStores{
		Windows: true,
		Own:     []string{"win-2"},
		Linux:   both.Linux,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("with containerd.exe on a node: %s %v", diff, err)
	}
	if got.System("win-2") != spec.Windows || got.System("linux-1") != spec.Linux {
		t.Errorf("the systems of single stores: %q, %q", got.System("win-2"), got.System("linux-1"))
	}
	if diff := cmp.Diff([]string{"win-2", "linux-1", "linux-2"}, got.Single()); diff != "" {
		t.Error(diff)
	}

	if diff := cmp.Diff(cluster.ImageStores{Linux: both.Linux}, got.For(spec.Linux)); diff != "" {
		t.Errorf("for Linux: %s", diff)
	}
	if diff := cmp.Diff(cluster.ImageStores{Windows: true, Own: []string{"win-2"}}, got.For(spec.Windows)); diff != "" {
		t.Errorf("for Windows: %s", diff)
	}

	_, err = cluster.ImageStoresOf(mixed(), []string{"win-1", "win-9"})
	if want := "no node \"win-9\"; there are linux-1, win-1, linux-2, win-2"; err == nil || err.Error() != want {
		t.Errorf("a node that is not there: %v, want %s", err, want)
	}

	for system, want := range map[string]cluster.ImageStores{
		"":           both,
		spec.Windows: {Windows: true},
		spec.Linux:   {Linux: both.Linux},
	} {
		if diff := cmp.Diff(want, both.For(system)); diff != "" {
			t.Errorf("for %q: %s", system, diff)
		}
	}
}

func TestLoadError(t *testing.T) {
	none, broken := fmt.Errorf("for windows: %w", errdefs.ErrNotFound), errors.New("broken")
	for _, tt := range []struct {
		name string
		errs []error
		want string
	}{
		{"both", []error{nil, nil}, ""},
		{"for-one-system", []error{none, nil}, ""},
		{"for-none", []error{none, none}, none.Error() + "\n" + none.Error()},
		{"the-only-system", []error{none}, none.Error()},
		{"broken-beside-one", []error{nil, broken}, "broken"},
		{"broken-and-none", []error{none, broken}, none.Error() + "\nbroken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := text(cluster.LoadError(tt.errs...)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPulls(t *testing.T) {
	type outcome struct {
		system string
		err    error
	}

	no, later := errors.New("not for it"), errors.New("later")
	for _, tt := range []struct {
		name     string
		outcomes []outcome
		want     string
	}{
		{"no-node", nil, ""},
		{"all", []outcome{{spec.Linux, nil}, {spec.Windows, nil}}, ""},
		{"for-windows-alone", []outcome{{spec.Linux, no}, {spec.Windows, nil}}, ""},
		{"for-linux-alone", []outcome{{spec.Linux, nil}, {spec.Windows, no}}, ""},
		{"for-one-build-alone", []outcome{{spec.Linux, no}, {spec.Windows, nil}, {spec.Windows, later}}, "later"},
		{"lacking-beside-all", []outcome{{spec.Linux, nil}, {spec.Windows, nil}, {spec.Windows, no}}, "not for it"},
		{"the-first-counts", []outcome{{spec.Windows, no}, {spec.Windows, later}}, "not for it"},
		{"windows-comes-first", []outcome{{spec.Linux, later}, {spec.Windows, no}}, "not for it\nlater"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p cluster.Pulls
			for _, o := range tt.outcomes {
				p.Add(o.system, o.err)
			}
			if got := text(p.Err()); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
