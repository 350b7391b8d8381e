// Package netplan is the plain data between the model of HNS and the data plane: what the network of one Windows host
// should look like. It decides nothing and imports nothing of either side.
package netplan

import (
	"net/netip"
	"slices"
)

// Plan is the wanted network of one Windows host. Every list is ordered by ID once Normalize has run.
type Plan struct {
	Bridges       []Bridge       `json:"bridges,omitempty"`
	Namespaces    []string       `json:"namespaces,omitempty"` // IDs of pods' namespaces; the host's own is not among them
	Ports         []Port         `json:"ports,omitempty"`
	LoadBalancers []LoadBalancer `json:"loadBalancers,omitempty"`
}

// Mode says how a network carries packets beyond the host.
type Mode string

// L2Bridge is the mode in which pods have addresses of their own that the underlay routes to the host; the underlay sees the host's hardware
// address only. The other modes of HNS are not here yet.
const L2Bridge Mode = "L2Bridge"

// Bridge is the switch of one HNS network inside the host.
type Bridge struct {
	ID   string `json:"id"`
	Mode Mode   `json:"mode"`
	// Addrs are the host's own addresses on the switch, with the subnet's length: endpoints attached to the host.
	Addrs []netip.Prefix `json:"addrs,omitempty"`
	// MAC is the hardware address of the host on the switch, as 00:15:5d:…; derived by the data plane when empty.
	MAC string `json:"mac,omitempty"`
}

// Port is an endpoint that is attached to a pod's namespace.
type Port struct {
	ID        string         `json:"id"`
	Bridge    string         `json:"bridge"`    // ID of its Bridge
	Namespace string         `json:"namespace"` // ID of its namespace
	Name      string         `json:"name"`      // the interface inside: eth0, eth1 …
	MAC       string         `json:"mac"`       // 00:15:5d:…
	Addrs     []netip.Prefix `json:"addrs"`     // with the subnet's length
	Routes    []Route        `json:"routes,omitempty"`
	NAT       []NAT          `json:"nat,omitempty"`
}

// Route is a route of a pod.
type Route struct {
	Dst netip.Prefix `json:"dst"`
	Via netip.Addr   `json:"via"`
}

// NAT hides a port's own addresses behind the host's: towards Only, or towards everything but Except and the port's own
// switch when Only is empty.
type NAT struct {
	Except []netip.Prefix `json:"except,omitempty"`
	Only   []netip.Prefix `json:"only,omitempty"`
}

// Protocol is an IP protocol number.
type Protocol uint8

// The protocols that load balancers know.
const (
	TCP Protocol = 6
	UDP Protocol = 17
)

// LoadBalancer sends connections to a virtual address on to one of several backends. It sees packets that pods send into
// a switch and, without VIPs, packets that come to the host from the underlay; what the host itself sends never passes it.
type LoadBalancer struct {
	ID       string           `json:"id"`
	VIPs     []netip.Addr     `json:"vips,omitempty"` // none: every address of the host (a node port)
	Protocol Protocol         `json:"protocol"`
	Port     uint16           `json:"port"`
	Backends []netip.AddrPort `json:"backends,omitempty"`
	// ByClient sends all connections of one client to the same backend.
	ByClient bool `json:"byClient,omitempty"`
}

// Stats counts what went through a port, as the pod sees it.
type Stats struct {
	RxBytes, TxBytes     uint64
	RxPackets, TxPackets uint64
	RxDropped, TxDropped uint64
}

// Normalize puts every list in its order, so that two plans that mean the same are equal. Routes, addresses and backends
// keep theirs.
func (p *Plan) Normalize() {
	slices.SortFunc(p.Bridges, func(a, b Bridge) int { return compare(a.ID, b.ID) })
	slices.Sort(p.Namespaces)
	slices.SortFunc(p.Ports, func(a, b Port) int { return compare(a.ID, b.ID) })
	slices.SortFunc(p.LoadBalancers, func(a, b LoadBalancer) int { return compare(a.ID, b.ID) })
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
