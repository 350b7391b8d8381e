package kubeadm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// A node's annotations tell flannel's daemons on the other nodes how its pods are reached:
// https://github.com/flannel-io/flannel/blob/v0.27.4/pkg/subnet/kube/annotations.go
const (
	flannelBackend = "flannel.alpha.coreos.com/backend-type"
	flannelData    = "flannel.alpha.coreos.com/backend-data"
	flannelAddress = "flannel.alpha.coreos.com/public-ip"
	flannelManager = "flannel.alpha.coreos.com/kube-subnet-manager"

	hostGateway = "host-gw"
)

// CheckNetwork returns an error that wraps ErrNetwork if a node of the cluster belongs to a pod network that our nodes
// cannot join. nil is no promise: some networks leave no trace on nodes.
func CheckNetwork(node *corev1.Node) error {
	if backend := node.Annotations[flannelBackend]; backend != "" && backend != hostGateway {
		return fmt.Errorf("look at node %q: %w: flannel's backend is %q, and only %q routes pods' own addresses",
			node.Name, ErrNetwork, backend, hostGateway)
	}
	for annotation, plugin := range map[string]string{
		"projectcalico.org/IPv4IPIPTunnelAddr":  "Calico with IP in IP",
		"projectcalico.org/IPv4VXLANTunnelAddr": "Calico with VXLAN",
	} {
		if node.Annotations[annotation] != "" {
			return fmt.Errorf("look at node %q: %w: it is %s", node.Name, ErrNetwork, plugin)
		}
	}
	return nil
}

// Flannel reports whether a node's pods are reached by flannel's backend host-gw.
func Flannel(node *corev1.Node) bool { return node.Annotations[flannelBackend] == hostGateway }

// JoinFlannel makes flannel's daemons on other nodes route a node's pods to its address. The node's own client
// suffices.
func JoinFlannel(ctx context.Context, client kubeclient.Interface, node string, address netip.Addr) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		flannelBackend: hostGateway,
		flannelData:    "null",
		flannelAddress: address.String(),
		flannelManager: "true",
	}}})
	if err != nil {
		return err
	}

	if _, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "mullion"}); err != nil {
		return fmt.Errorf("tell flannel of node %q: %w", node, err)
	}
	return nil
}
