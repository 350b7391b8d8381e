package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
)

// In a cluster that Mullion did not make, a machine does what it does in one of several machines, with three
// differences: its nodes stand on its own network (underlay.LAN), it has no part of an underlay, and what kubeadm does
// not let nodes do waits until an administrator allows it.

// whenAllowed makes a component wait for a node's rights where the cluster is not Mullion's.
func (c *composer) whenAllowed(part component.Component, node string) component.Component {
	if !c.Spec.Foreign() {
		return part
	}

	g := &parts.Granted{
		Component: part,
		Log:       c.log,
		Allowed: func(ctx context.Context) error {
			client, err := c.access.nodes.Client(node)
			if err != nil {
				return err
			}
			return kubeadm.Allowed(ctx, client, node)
		},
	}

	if c.Spec.Join.Foreign.Granted {
		g.Patience = parts.GrantTimeout
	}
	return g
}

// proxyWhenAllowed makes a Windows node's kube-proxy wait for the node's rights.
func (c *composer) proxyWhenAllowed(units []component.Unit, node string, proxy component.ID) []component.Unit {
	for i, u := range units {
		if u.ID() == proxy {
			units[i].Component = c.whenAllowed(u.Component, node)
		}
	}
	return units
}

// seenNode returns what is called with each node after its routes are set; nil where the cluster is Mullion's.
func (c *composer) seenNode() func(context.Context, *corev1.Node) {
	if !c.Spec.Foreign() {
		return nil
	}
	f := &parts.ForeignNetwork{
		Own:    c.Spec.NodeNames(),
		Client: c.access.nodes.Client,
		Log:    c.log,
	}
	return f.Seen
}

// serving adds the unit that watches a node's serving certificate, for nodes of a cluster that Mullion did not make and
// in which kubelets do not sign their own.
func (c *composer) serving(node string, i kubenode.Identity, kubelet component.ID) {
	if c.Spec.Foreign() && !c.selfSigned() {
		c.add(&parts.ServingCertificate{
			Node:     node,
			Identity: i,
			Client:   func() (kubeclient.Interface, error) { return c.access.nodes.Client(node) },
		}, kubelet)
	}
}

// selfSigned reports whether kubelets sign their serving certificates themselves, which is kubeadm's default.
func (c *composer) selfSigned() bool {
	return c.Spec.Foreign() && !c.Spec.Join.Foreign.ServerTLSBootstrap
}
