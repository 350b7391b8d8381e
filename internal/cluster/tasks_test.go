package cluster

import "testing"

func TestTaskLimits(t *testing.T) {
	for _, tt := range []struct {
		name    string
		machine int64
		nodes   int
		want    taskLimits
	}{
		{"the kernel's default", 32768, 3, taskLimits{cluster: 26214, node: 7645}},
		{"systemd's", 4194304, 2, taskLimits{cluster: 3355443, node: 1468006}},
		{"one node", 32768, 1, taskLimits{cluster: 26214, node: 22937}},
		{"a control plane alone", 32768, 0, taskLimits{cluster: 26214, node: 22937}},
		{"many nodes", 32768, 50, taskLimits{cluster: 26214, node: 4096}},
		{"a small machine", 4000, 2, taskLimits{cluster: 3200, node: 3200}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := limitsOf(tt.machine, tt.nodes); got != tt.want {
				t.Errorf("limits %+v, want %+v", got, tt.want)
			}
		})
	}
	if n, err := machineTasks(); err != nil || n < 1 {
		t.Errorf("this machine: %d, %v", n, err)
	}
}
