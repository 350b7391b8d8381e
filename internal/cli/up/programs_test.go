package up

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/exit"
)

// A node whose programs the machine has not got is refused before anything comes up.
func TestUpWithoutTheProgramsOfANode(t *testing.T) {
	for name, tt := range map[string]struct{ node, err, remedy string }{
		"runtime": {
			"runtime: containerd",
			"node win-1 has runtime: containerd: stat BIN/containerd-windows/containerd.exe: no such file or directory",
			"in a checkout, `make containerd-windows` builds it; or leave runtime out of the node",
		},
		"pause": {
			"pauseImage: 'mullion.local/pause:v1'",
			"node win-1 has pauseImage: mullion.local/pause:v1: stat BIN/windows/pause.exe: no such file or directory",
			"in a checkout, `make pause` builds it; or leave pauseImage out of the node",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.comesUp()
			m.Env.In = strings.NewReader("apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nnodes: [{" + tt.node + "}]\n")
			m.Run("up", "-f", "-").Refused(t, exit.Requirement, tt.err, tt.remedy)
		})
	}
}
