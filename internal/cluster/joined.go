package cluster

import (
	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/spec"
)

// join takes the place of the control plane on a machine that joined: the API is reached at the address that the join
// used, and with the kubelets' certificates as soon as they have them.
func (c *composer) join() error {
	names := c.Spec.NodeNames()
	clients := NodeClients(c.Paths, c.Spec)
	c.access = access{
		server:       clients.Server,
		caFile:       clients.CAFile,
		bootstrap:    c.Paths.JoinKubeconfig(),
		kubeletAfter: []component.ID{parts.FabricUnit()},
		machine:      []component.ID{parts.IdentityUnit(names[0])},
		client:       func() (kubeclient.Interface, error) { return clients.Client(names[0]) },
		nodes:        clients,
	}

	if c.Spec.Foreign() {
		return nil
	}
	var ready []component.ID
	for _, name := range names {
		ready = append(ready, parts.NodeUnit(name))
	}

	c.add(&parts.Claim{
		Client: c.access.client,
		Part:   c.Spec.Join.Part,
		Nodes:  names,
	}, ready...)
	c.add(c.loadBalancer(), append([]component.ID{parts.FabricUnit()}, c.access.machine...)...)
	if *c.Spec.Addons.LocalStorage {
		c.add(&parts.FarVolumes{
			Client: c.access.client,
			Part:   c.Spec.Join.Part,
			Nodes:  names,
			Place:  c.volumes,
			Log:    c.log,
		}, c.access.machine...)
	}

	return nil
}

// proxyAfter adds the units that a node's kube-proxy waits for, and returns them: the node is registered, and
// the kubelet has its certificate, if something else than the kubelet uses that. hasProxy says that there is a
// kube-proxy.
func (c *composer) proxyAfter(node kubenode.Config, i kubenode.Identity, hasProxy bool) []component.ID {
	var after []component.ID
	if hasProxy {
		registered := &parts.NodeRegistered{Node: node.Name, Client: c.access.client}
		c.add(registered, append([]component.ID{node.KubeletUnit()}, c.access.machine...)...)
		after = append(after, registered.ID())
	}
	if c.access.proxy == "" {
		c.add(&parts.Identity{Node: node.Name, Identity: i}, node.KubeletUnit())
		after = append(after, parts.IdentityUnit(node.Name))
	}
	return after
}

// NodeClients makes clients with the rights of the nodes of a machine that joined.
func NodeClients(paths layout.Paths, c spec.Cluster) kubenode.Clients {
	clients := kubenode.Clients{
		Server:     c.Join.Server,
		CAFile:     paths.JoinCA(),
		Identities: map[string]kubenode.Identity{},
	}
	for _, n := range c.Nodes {
		if n.Linux() {
			clients.Identities[n.Name] = linuxnode.Identity(paths.Node(n.Name))
			continue
		}
		clients.Identities[n.Name] = winnode.Identity(paths.Node(n.Name))
	}
	return clients
}
