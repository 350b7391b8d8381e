package cluster

import (
	"errors"
	"fmt"

	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/spec"
)

// CheckPrograms returns an error if a specification gives a node's kubelet a field that it does not know, or flags to a
// kube-proxy that the node has not.
func CheckPrograms(c spec.Cluster) error {
	var errs []error
	for _, n := range c.Nodes {
		if err := kubenode.CheckFields(n.KubeletConfiguration); err != nil {
			errs = append(errs, fmt.Errorf("node %q: kubeletConfiguration: %w", n.Name, err))
		}
		if len(n.KubeProxyExtraArgs) > 0 && c.Networking.KubeProxyMode == spec.KubeProxyNone {
			errs = append(errs, fmt.Errorf("node %q: kubeProxyExtraArgs: kubeProxyMode none leaves kube-proxy out", n.Name))
		}
	}
	return errors.Join(errs...)
}
