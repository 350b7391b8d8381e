package parts

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/process/component"
)

// NodeReady is the component that is ready when a node is.
type NodeReady struct {
	Node   string
	Client func() (kubeclient.Interface, error)
	// NoCNI accepts a node that lacks nothing but a CNI plugin.
	NoCNI bool
	// Since is a time before the kubelet was started, and later that of the last Stop. A node may be Ready before this
	// component waits for it, and then its kubelet reports nothing new for five minutes.
	Since time.Time
}

// NodeUnit returns the unit that is ready when the node is.
func NodeUnit(node string) component.ID { return component.OfNode("node", node) }

// ID implements component.Component.
func (n *NodeReady) ID() component.ID { return NodeUnit(n.Node) }

// Start waits until the node's Ready condition is true and was set by the kubelet that runs now.
func (n *NodeReady) Start(ctx context.Context) error {
	started := n.Since.Add(-time.Second) // conditions have whole seconds
	return awaitNode(ctx, n.Client, n.Node, "Ready", func(node *corev1.Node) (bool, string) {
		ready, why := isReady(node, started)
		return ready || (n.NoCNI && lacksCNI(why)), why
	})
}

// Stop makes the next Start wait for a kubelet that is started after it. The kubelet is a component of its own.
func (n *NodeReady) Stop(context.Context) error {
	n.Since = time.Now()
	return nil
}

// isReady reports whether the node's Ready condition is true and was set after since, and else why not.
func isReady(node *corev1.Node, since time.Time) (bool, string) {
	for _, c := range node.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}

		switch {
		case c.Status != corev1.ConditionTrue:
			return false, c.Message
		case !c.LastHeartbeatTime.After(since):
			return false, fmt.Sprintf(
				"its kubelet has told nothing since it was started; the node was Ready at %s, before that",
				c.LastHeartbeatTime.UTC().Format(time.RFC3339))
		}

		return true, ""
	}

	return false, "it has no Ready condition yet"
}

// lacksCNI reports whether the only problem in the message of a Ready condition is the missing CNI plugin; "CSINode is
// not yet initialized", which every node says at first, does not count. Several problems are a list in brackets
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/nodestatus/setters.go, ReadyCondition).
func lacksCNI(message string) bool {
	message = strings.TrimSuffix(strings.TrimPrefix(message, "["), "]")
	message = strings.TrimSuffix(message, ", CSINode is not yet initialized")
	return strings.HasPrefix(message, "container runtime network not ready") &&
		strings.HasSuffix(message, "cni plugin not initialized")
}
