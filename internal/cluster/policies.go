package cluster

import (
	"mullion.dev/mullion/internal/network/policy/enforcer"
	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/node/winnode"
)

// notCarriedOut is what a NetworkPolicy's event says in a cluster that does not carry policies out.
const notCarriedOut = "this cluster does not carry out NetworkPolicies: networking.networkPolicy is false, or its network mode or CNI plugin leaves no place for them (docs/networking.md)"

// policies adds what carries out NetworkPolicies on the machine's nodes, or says that nothing does. In a cluster that
// Mullion did not make, that is others' business.
func (c *composer) policies() error {
	if c.Spec.Foreign() {
		return nil
	}
	var (
		nodes []enforcer.Node
		netns []string
	)
	after := c.access.machine
	add := func(node, socket string) {
		nodes = append(nodes, enforcer.Node{Name: node, Netns: c.underlay.HostNetns(node), Socket: socket})
		netns = append(netns, c.underlay.HostNetns(node))
		after = append(after[:len(after):len(after)], "host/"+node)
	}
	for _, h := range c.Hosts {
		add(h.Name, winnode.PolicySocket(c.Paths.NodeRun(h.Name)))
	}
	for _, h := range c.LinuxHosts {
		add(h.Name, linuxnode.PolicySocket(c.Paths.NodeRun(h.Name)))
	}
	if c.Spec.Networking.Policies() {
		c.add(enforcer.New(enforcer.Config{Client: c.access.client, Nodes: nodes, Log: c.log}), after...)
		return nil
	}
	c.add(&enforcer.Notice{
		Client: c.access.client,
		Why:    notCarriedOut,
		Netns:  netns,
		Silent: c.Spec.Join != nil,
	}, after...)
	return nil
}
