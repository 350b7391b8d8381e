package parts

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/process/component"
)

// NodeRegistered is the component that is ready when the API has a node with its addresses. kube-proxy asks for them
// when it starts, for half a minute, and ends when they appear after that:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/proxy/node.go
type NodeRegistered struct {
	Node   string
	Client func() (kubeclient.Interface, error)
}

// ID implements component.Component.
func (n *NodeRegistered) ID() component.ID { return component.OfNode("registered", n.Node) }

// Start waits until the node has an internal address.
func (n *NodeRegistered) Start(ctx context.Context) error {
	return awaitNode(ctx, n.Client, n.Node, "registered", func(node *corev1.Node) (bool, string) {
		for _, a := range node.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				return true, ""
			}
		}
		return false, "it has no internal address yet"
	})
}

// Stop does nothing: the kubelet is a component of its own.
func (n *NodeRegistered) Stop(context.Context) error { return nil }
