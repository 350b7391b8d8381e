//go:build kernel

package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

// A node's limits hold also after its host was off, when its cgroup has gone with what was in it.
func TestLimitsAfterOff(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	paths := layout.Paths{Data: t.TempDir()}
	nodes := []spec.Node{{Name: "win-1", OS: spec.Windows, Memory: "1Gi"}, {Name: "win-2", OS: spec.Windows}}
	if err := paths.SaveSpec(spec.Cluster{
		APIVersion: spec.APIVersion,
		Kind:       spec.Kind,
		Nodes:      nodes,
	}); err != nil {
		t.Fatal(err)
	}

	most, err := machineLimits(len(nodes))
	if err != nil {
		t.Fatal(err)
	}

	parent := paths.CgroupParent()
	t.Cleanup(func() {
		if err := KillCgroups(context.WithoutCancel(t.Context()), parent); err != nil {
			t.Error(err)
		}
	})
	if err := most.apply(paths, nodes, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}

	power, err := NewNodePower(paths)
	if err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]int64{"win-1": 1 << 30, "win-2": most.nodeMemory} {
		node := parent + "/" + name
		files, err := cgroup.FindMemoryFiles(node)
		if errors.Is(err, cgroup.ErrNoController) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}

		for _, again := range []bool{false, true} {
			if again {
				if err := KillCgroups(t.Context(), node); err != nil {
					t.Fatal(err)
				}
				if err := power.limit(name); err != nil {
					t.Fatal(err)
				}
			}

			var got int64
			text, err := os.ReadFile(files.Limit)
			if _, scan := fmt.Sscan(string(text), &got); err != nil || scan != nil || got>>12 != want>>12 {
				t.Errorf("%s, switched off %v: the limit is %q, want %d (%v)", name, again, text, want, err)
			}
		}
	}

	if err := power.limit("win-3"); err == nil {
		t.Error("a node that is not there was limited")
	}
}
