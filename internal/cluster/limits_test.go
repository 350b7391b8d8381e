package cluster

import (
	"testing"

	"mullion.dev/mullion/internal/spec"
)

func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tasks int64
		nodes int
		want  limits
	}{
		{"the kernel's default", 32768, 3, limits{clusterTasks: 26214, nodeTasks: 7645}},
		{"systemd's", 4194304, 2, limits{clusterTasks: 3355443, nodeTasks: 1468006}},
		{"one node", 32768, 1, limits{clusterTasks: 26214, nodeTasks: 22937}},
		{"a control plane alone", 32768, 0, limits{clusterTasks: 26214, nodeTasks: 22937}},
		{"many nodes", 32768, 50, limits{clusterTasks: 26214, nodeTasks: 4096}},
		{"a small machine", 4000, 2, limits{clusterTasks: 3200, nodeTasks: 3200}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := limitsOf(tt.tasks, 0, tt.nodes)
			got.nodeMemory = 0
			if got != tt.want {
				t.Errorf("limits %+v, want %+v", got, tt.want)
			}
		})
	}

	const gib = int64(1) << 30
	for memory, want := range map[int64]int64{
		2 * gib: 2*gib - 256<<20, 10 * gib: 9 * gib, 64 * gib: 62 * gib,
	} {
		if got := limitsOf(32768, memory, 3).nodeMemory; got != want {
			t.Errorf("of %d bytes of memory a node may have %d, want %d", memory, got, want)
		}
	}

	l := limitsOf(32768, 10*gib, 3)
	for memory, want := range map[spec.Memory]int64{"": 9 * gib, "3Gi": 3 * gib} {
		if got := l.memoryOf(spec.Node{Memory: memory}); got != want {
			t.Errorf("a node with memory %q may have %d bytes, want %d", memory, got, want)
		}
	}

	if l, err := machineLimits(2); err != nil || l.clusterTasks < 1 || l.nodeMemory < gib/4 {
		t.Errorf("this machine: %+v, %v", l, err)
	}
}
