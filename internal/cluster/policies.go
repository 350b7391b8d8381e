package cluster

import (
	"mullion.dev/mullion/internal/network/policy/enforcer"
	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/component"
)

// notCarriedOut is what a NetworkPolicy's event says in a cluster that does not carry policies out.
const notCarriedOut = "Mullion does not carry out NetworkPolicies in this cluster: its specification turns them off, or its network mode or CNI plugin leaves no place for them (`mullion status` says which)"

// policies adds what carries out NetworkPolicies on the machine's nodes, or what says that nothing does; a machine that
// joined leaves the latter to the first one. In a cluster that Mullion did not make, all that is others' business.
func (c *composer) policies() error {
	carried := c.Spec.Networking.Policies()
	switch {
	case c.Spec.Foreign(), !carried && c.Spec.Join != nil:
		return nil
	case !carried:
		notice := policyNotice{&enforcer.Notice{Client: c.access.client, Why: notCarriedOut}}
		c.add(notice, c.access.machine...)
		return nil
	}

	var nodes []enforcer.Node
	after := append([]component.ID(nil), c.access.machine...)
	add := func(node, socket, part string) {
		nodes = append(nodes, enforcer.Node{
			Name:   node,
			Netns:  c.underlay.HostNetns(node),
			Socket: socket,
		})
		after = append(after, component.OfNode(part, node))
	}

	for _, h := range c.Hosts {
		if h.Bare || !c.Spec.Networking.WindowsPolicies() { // its pods do not wait for policies, see hostConfig
			continue
		}
		add(h.Name, winnode.PolicySocket(c.Paths.NodeRun(h.Name)), "network")
	}

	for _, h := range c.LinuxHosts { // the socket is in the host's /run
		if h.Bare {
			continue
		}
		add(h.Name, linuxnode.PolicySocket(c.Paths.NodeRun(h.Name)), "host")
	}

	c.addOfNodes(policyEnforcer{enforcer.New(enforcer.Config{
		Client: c.access.client,
		Nodes:  nodes,
		Log:    c.log,
	})}, after...)

	return nil
}

// policyEnforcer and policyNotice are units: the network does not know what a unit is.
type (
	policyEnforcer struct{ *enforcer.Enforcer }
	policyNotice   struct{ *enforcer.Notice }
)

// ID implements component.Component.
func (policyEnforcer) ID() component.ID { return component.Sole(enforcer.Unit) }

// ID implements component.Component.
func (policyNotice) ID() component.ID { return component.Sole(enforcer.Unit) }
