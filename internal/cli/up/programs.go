package up

import (
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

// hasRuntimes returns an error with a remedy if a node is to have a container runtime that this machine has not got.
func hasRuntimes(c spec.Cluster, paths layout.Paths) error {
	err := cluster.HasRuntimes(c, paths.Bin)
	if err == nil {
		return nil
	}
	return &exit.Error{
		Code:   exit.Requirement,
		Err:    err,
		Remedy: "in a checkout, `make containerd-windows` builds it; or leave runtime out of the node",
	}
}
