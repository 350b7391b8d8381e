package cluster

import (
	"regexp"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/cluster/layout"
)

// TestClasses: each gives way to the one before it, also when the nodes of a small cluster are all busy; and no cgroup
// has a name that a node can have.
func TestClasses(t *testing.T) {
	all := classes()
	node := regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)
	for i, c := range all {
		if i > 0 && c.weight.Share >= all[i-1].weight.Share {
			t.Errorf("%q has share %d, and gives no way to %q with %d", c.name, c.weight.Share, all[i-1].name,
				all[i-1].weight.Share)
		}
		if node.MatchString(c.name) {
			t.Errorf("a node can be called %q too", c.name)
		}
	}

	const nodes = 3
	control, pods := all[1], all[len(all)-1]
	if control.name != layout.Control || pods.name != "" || control.weight.Share < 2*nodes*pods.weight.Share {
		t.Errorf("the control plane %+v has not twice what %d nodes have: %+v", control, nodes, pods)
	}
}

// TestClusterShares: the machine's other work has its place between what serves the cluster and its pods; and a cluster
// that is nice comes after one busy thread, its pods last.
func TestClusterShares(t *testing.T) {
	for _, tt := range []struct {
		name       string
		nice       bool
		processors int
		want       shares
	}{
		{"two processors", false, 2, shares{own: 800, pods: 100}},
		{"many processors", false, 128, shares{own: 10_000, pods: 100}},
		{"nice", true, 2, shares{own: 8, pods: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := clusterShares(tt.nice, tt.processors); got != tt.want {
				t.Errorf("shares %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestSetNice: it stays for the next supervisor, and is undone as often as one likes.
func TestSetNice(t *testing.T) {
	paths := layout.Paths{Data: t.TempDir()}
	for _, nice := range []bool{false, true, true, false, false} {
		if err := SetNice(t.Context(), paths, nice); err != nil {
			t.Fatal(err)
		}
		w := weights(paths)
		if isNice(paths) != nice || w.Nice != nice || (w.Classes[0].Share < cgroup.UsualShare) != nice {
			t.Errorf("after SetNice(%t): %+v", nice, w)
		}
	}

	text := strings.Join(strings.Fields(weights(paths).Text()), " ")
	for _, want := range []string{paths.OwnCgroup() + "/@control etcd", "/NODE a node's pods"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table has no %q:\n%s", want, text)
		}
	}

	paths.Data += "/none"
	if err := SetNice(t.Context(), paths, true); err == nil {
		t.Error("a folder that is not there was written to")
	}
}
