package spec

import (
	"net/netip"
	"slices"
)

// bare checks that a bare host is asked for nothing that its kubelet or kube-proxy would carry out: it has neither.
func (v *validator) bare(i int, n Node) {
	if !n.Bare {
		return
	}

	for _, f := range []struct {
		name string
		set  bool
	}{
		{"kubernetesVersion", n.KubernetesVersion != ""},
		{"taint", n.Taint},
		{"labels", len(n.Labels) > 0},
		{"systemReserved", len(n.SystemReserved) > 0},
		{"kubeReserved", len(n.KubeReserved) > 0},
		{"kubeletConfiguration", len(n.KubeletConfiguration) > 0},
		{"kubeletExtraArgs", len(n.KubeletExtraArgs) > 0},
		{"kubeProxyExtraArgs", len(n.KubeProxyExtraArgs) > 0},
	} {
		if f.set {
			v.fail([]any{"nodes", i, f.name},
				"is for a node with a kubelet, and a bare host has none; leave it out, or leave out bare")
		}
	}
}

// bareLinux checks that bare Linux hosts are kept apart from where frames of other nodes' pods go in UDP packets, in
// mode overlay and between machines: nodes believe what is in such a packet, and nobody but the person who gives a bare
// host its network keeps the host's pods from sending one.
func (v *validator) bareLinux(c Cluster) {
	for _, n := range c.Nodes {
		switch {
		case !n.Bare || !n.Linux():
			continue
		case c.Networking.Mode == ModeOverlay:
			v.fail([]any{"networking", "mode"},
				"pods of the bare Linux host %s could send into the overlay; use another mode, or a cluster of its own", n.Name)
		case c.SeveralMachines():
			v.fail([]any{"nodes"},
				"pods of the bare Linux host %s could send into the tunnel between the machines; bring it up on one machine, in a cluster of its own",
				n.Name)
		}

		return
	}
}

// Endpoint returns the address on the underlay behind which the API servers of the bare Linux hosts are, if somebody
// makes control planes of them by kubeadm: its --control-plane-endpoint. It is not valid in a cluster without such
// hosts.
func (c Cluster) Endpoint() netip.Addr {
	if !slices.ContainsFunc(c.Nodes, func(n Node) bool { return n.Bare && n.Linux() }) {
		return netip.Addr{}
	}
	return Nth(c.Networking.PartAddress(c.Part()), Endpoint)
}

// Bare returns the names of the bare hosts.
func (c Cluster) Bare() []string {
	var names []string
	for _, n := range c.Nodes {
		if n.Bare {
			names = append(names, n.Name)
		}
	}
	return names
}
