package up

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/exit"
)

// A node with a container runtime that the machine has not got is refused before anything comes up.
func TestUpWithoutTheRuntimeOfANode(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	m.Env.In = strings.NewReader("apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nnodes: [{runtime: containerd}]\n")
	m.Run("up", "-f", "-").Refused(t, exit.Requirement,
		"node win-1 has runtime: containerd: stat BIN/containerd-windows/containerd.exe: no such file or directory",
		"in a checkout, `make containerd-windows` builds it; or leave runtime out of the node")
}
