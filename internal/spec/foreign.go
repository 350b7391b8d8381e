package spec

import (
	"net/netip"
	"slices"
)

// Foreign describes a cluster that Mullion did not make, on a machine that joined it; it is not in cluster.yaml. With
// it, Networking has that cluster's subnets, and UnderlaySubnet is the machine's own network, on which its nodes have
// their addresses.
type Foreign struct {
	// Link is the machine's interface on its network, MTU the network's MTU in bytes.
	Link string `json:"link"`
	MTU  int    `json:"mtu"`
	// Addresses are the addresses of Nodes, in the same order.
	Addresses []string `json:"addresses"`
	// DNS is the ClusterIP of the cluster's DNS, Domain the domain of its Services and pods.
	DNS    string `json:"dns,omitempty"`
	Domain string `json:"domain"`
	// ServerTLSBootstrap says that kubelets ask the cluster for their serving certificates, as on its other nodes.
	ServerTLSBootstrap bool `json:"serverTLSBootstrap,omitempty"`
	// Granted says that an administrator joined the machine, so its nodes get the rights that they need. Otherwise they
	// may have to wait for an administrator.
	Granted bool `json:"granted,omitempty"`
}

// Foreign reports whether the machine's nodes are part of a cluster that Mullion did not make.
func (c Cluster) Foreign() bool { return c.Join != nil && c.Join.Foreign != nil }

// DNS returns the ClusterIP of the cluster's DNS, not valid if there is none. The cluster must have been validated.
func (c Cluster) DNS() netip.Addr {
	if !c.Foreign() {
		return c.Networking.ClusterDNS()
	}
	addr, _ := netip.ParseAddr(c.Join.Foreign.DNS) // checked, or left out
	return addr
}

// Domain returns the domain of Services and pods.
func (c Cluster) Domain() string {
	if !c.Foreign() {
		return ClusterDomain
	}
	return c.Join.Foreign.Domain
}

// foreignSubnets checks the subnets of a cluster that Mullion did not make: they may have any length from 1 to 30 bits,
// but must be set and must not overlap.
func (v *validator) foreignSubnets(n Networking) {
	var others []netip.Prefix
	for _, s := range []struct{ field, value string }{
		{"underlaySubnet", n.UnderlaySubnet}, {"podSubnet", n.PodSubnet}, {"serviceSubnet", n.ServiceSubnet},
	} {
		others = v.subnet(s.field, s.value, bounds{1, 30}, others)
	}
}

// foreign checks the addresses of a machine and its nodes in a cluster that Mullion did not make.
func (v *validator) foreign(c Cluster) {
	f, network := c.Join.Foreign, c.Networking.Underlay()
	machine, err := netip.ParseAddr(c.Join.Address)
	if err != nil || !network.Contains(machine) {
		v.fail([]any{"join", "address"}, "%q is not an address on network %s", c.Join.Address, network)
	}
	if len(f.Addresses) != len(c.Nodes) {
		v.fail([]any{"join", "nodeAddresses"}, "%d addresses for %d nodes; each node needs one", len(f.Addresses),
			len(c.Nodes))
	}

	if c.Networking.Mode != ModeL2Bridge {
		v.fail([]any{"networking", "mode"}, "in a cluster that Mullion did not make, nodes have to use mode %s", ModeL2Bridge)
	}
	v.nodeAddresses(f.Addresses, network, machine)
	if dns, err := netip.ParseAddr(f.DNS); f.DNS != "" && (err != nil || !dns.Is4()) {
		v.fail([]any{"join", "dns"}, "%q is not an IPv4 address", f.DNS)
	}
}

// nodeAddresses checks the nodes' addresses on the machine's network.
func (v *validator) nodeAddresses(all []string, network netip.Prefix, machine netip.Addr) {
	for i, text := range all {
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil || !reachable(a) || !network.Contains(a):
			v.fail([]any{"join", "nodeAddresses"}, "%q is not an address on this machine's network %s", text, network)
		case a == machine || a == network.Addr() || a == Last(network):
			v.fail([]any{"join", "nodeAddresses"}, "%s cannot be a node's address: it is this machine's, or the network's own",
				a)
		case slices.Contains(all[:i], text):
			v.fail([]any{"join", "nodeAddresses"}, "two nodes have the address %s", a)
		}
	}
}
