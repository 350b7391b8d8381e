// Package netplan is the plain data between the model of HNS and the data plane: what the network of one Windows host
// should look like. It decides nothing and imports nothing of either side.
package netplan

import "net/netip"

// Plan is the wanted network of one Windows host. Every list is ordered by ID once Normalize has run.
type Plan struct {
	Bridges []Bridge `json:"bridges,omitempty"`
	Peers   []Peer   `json:"peers,omitempty"`
	// Namespaces are the IDs of pods' namespaces, without the host's own.
	Namespaces    []string       `json:"namespaces,omitempty"`
	Ports         []Port         `json:"ports,omitempty"`
	LoadBalancers []LoadBalancer `json:"loadBalancers,omitempty"`
}

// Mode says how a network carries packets beyond the host.
type Mode string

// The modes of HNS networks.
const (
	// L2Bridge: pods have addresses of their own that the underlay routes to the host; the underlay sees the host's
	// hardware address only.
	L2Bridge Mode = "L2Bridge"
	// L2Tunnel is L2Bridge where pods of one host, too, reach each other only by way of the underlay's router.
	L2Tunnel Mode = "L2Tunnel"
	// Overlay: pods' frames travel between hosts in VXLAN (RFC 7348), to the Peers of the network.
	Overlay Mode = "Overlay"
	// Transparent: pods are on the underlay itself, each with its own hardware address.
	Transparent Mode = "Transparent"
	// WinNAT: pods are behind the host's address; the host is the gateway of their subnet.
	WinNAT Mode = "NAT"
)

// Bridge is the switch of one HNS network inside the host.
type Bridge struct {
	ID   string `json:"id"`
	Mode Mode   `json:"mode"`
	// Addrs are the host's own addresses on the switch, with the subnet's length: endpoints attached to the host.
	Addrs []netip.Prefix `json:"addrs,omitempty"`
	// MAC is the hardware address of the host on the switch, as 00:15:5d:…; derived by the data plane when empty.
	MAC string `json:"mac,omitempty"`
	// Uplink is the host's adapter that the network goes through; the data plane's own choice when empty.
	Uplink string `json:"uplink,omitempty"`
	// Gateways are addresses, with the subnet's length, at which the switch itself answers as its subnets' router:
	// those of a NAT network, and of an overlay.
	Gateways []netip.Prefix `json:"gateways,omitempty"`
	// HostVIPs lets the host itself reach load balancers' virtual addresses, except those that are the host's own
	// addresses.
	HostVIPs bool `json:"hostVIPs,omitempty"`
	// VLAN is the 802.1Q tag of the network's frames on the uplink, 1 to 4094; 0: untagged.
	VLAN uint16 `json:"vlan,omitempty"`
	// Overlay is set if Mode is Overlay.
	Overlay *VXLAN `json:"overlay,omitempty"`
	// DNSProxy says that DNS questions of the pods are answered at the Gateways, by the host's own name servers.
	DNSProxy bool `json:"dnsProxy,omitempty"`
	// DHCP says that DHCP clients of the pods are told their ports' addresses, by the first of the Gateways.
	DHCP bool `json:"dhcp,omitempty"`
	// Apart is set for an overlay whose subnet another network of the host has too: the number, 1 to MaxApart, of the
	// namespace that it has for itself on the host. No two bridges have the same. 0: it is in the host's own namespace.
	Apart uint16 `json:"apart,omitempty"`
}

// MaxApart is how many networks of a host can be apart.
const MaxApart = 1024

// VXLAN is this host's side of an overlay.
type VXLAN struct {
	VNI  uint32     `json:"vni"`  // 4096 to 2^24-1
	Port uint16     `json:"port"` // UDP; 4789
	VTEP netip.Addr `json:"vtep"` // this host's provider address
	// MAC is the distributed router's hardware address: what other hosts send routed frames of this network to.
	MAC string `json:"mac"`
}

// Peer is another host of an overlay, with a subnet behind its router (RemoteSubnetRoute), or one pod there (a remote
// endpoint: a subnet of one address). There may be tens of thousands.
type Peer struct {
	ID     string       `json:"id"`
	Bridge string       `json:"bridge"` // ID of its Bridge, whose Mode is Overlay
	Subnet netip.Prefix `json:"subnet"`
	VTEP   netip.Addr   `json:"vtep"`
	MAC    string       `json:"mac"`
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
	// ACL are the port's access rules in no order; Priority orders them. None: everything may pass.
	ACL []ACL `json:"acl,omitempty"`
	// EgressBPS limits what the pod sends, in bits a second; 0: no limit (policy QOS).
	EgressBPS uint64 `json:"egressBPS,omitempty"`
	// EncapOverhead is the number of bytes by which the pod's largest packet is smaller than the uplink's (policy
	// EncapOverhead).
	EncapOverhead uint16 `json:"encapOverhead,omitempty"`
	// Proxies send connections of the pod to a program that looks into them (policies L4Proxy and L4WFPPROXY).
	Proxies []Proxy `json:"proxies,omitempty"`
}

// ACL lets packets pass, or drops them. Replies of connections that passed always pass. Rules are looked at by Tier,
// then Priority, lowest first; the first that matches decides, and what no rule matches passes. Rules of the host are a
// list of their own: a packet has to pass both lists.
type ACL struct {
	Host     bool   `json:"host,omitempty"`
	Tier     uint16 `json:"tier,omitempty"`
	Priority uint16 `json:"priority"`
	In       bool   `json:"in"` // towards the pod; else from it
	Block    bool   `json:"block"`
	// Pass leaves the decision to the next tier: the rest of this one is skipped. Block is false then.
	Pass     bool           `json:"pass,omitempty"`
	Protocol Protocol       `json:"protocol,omitempty"` // 0: any
	Local    []netip.Prefix `json:"local,omitempty"`    // the pod's side; none: any
	Remote   []netip.Prefix `json:"remote,omitempty"`
	// LocalPorts and RemotePorts are ranges of TCP's and UDP's ports; none: any.
	LocalPorts  []PortRange `json:"localPorts,omitempty"`
	RemotePorts []PortRange `json:"remotePorts,omitempty"`
}

// PortRange is from First to Last, both in it.
type PortRange struct {
	First uint16 `json:"first"`
	Last  uint16 `json:"last"`
}

// Proxy sends the connections that match to Port.
type Proxy struct {
	// In selects connections that come to the pod; otherwise those that it opens.
	In       bool           `json:"in,omitempty"`
	Protocol Protocol       `json:"protocol"`
	Port     uint16         `json:"port"`
	Remote   []netip.Prefix `json:"remote,omitempty"` // the other side's addresses; none: any
	Ports    []PortRange    `json:"ports,omitempty"`  // the ports that are connected to; none: any
	// Except and ExceptPorts are other sides' addresses and connected ports that are left alone.
	Except      []netip.Prefix `json:"except,omitempty"`
	ExceptPorts []PortRange    `json:"exceptPorts,omitempty"`
	// ExceptUser is the Windows user, or group of users, as a SID, whose own connections are left alone: the proxy's.
	// Empty: nobody's.
	ExceptUser string `json:"exceptUser,omitempty"`
	// Addr is where the program listens; the pod itself when not valid.
	Addr netip.Addr `json:"addr,omitzero"`
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
	// To is the address to hide behind, which has to lead to this host; the host's own when it is not valid.
	To netip.Addr `json:"to,omitzero"`
	// ICMP lets all protocols be translated. Windows translates TCP and UDP only: a pod's echo request to a place where
	// its address would be hidden is never answered
	// (https://kubernetes.io/docs/concepts/services-networking/windows-networking/#limitations).
	ICMP bool `json:"icmp,omitempty"`
}

// Protocol is an IP protocol number.
type Protocol uint8

// The protocols that load balancers know.
const (
	TCP Protocol = 6
	UDP Protocol = 17
)

// LoadBalancer sends connections to a virtual address on to one of several backends. It sees packets that pods send
// into a switch and, where External says so, packets that come to the host from the underlay; it sees packets that the
// host itself sends only with FromHost or the Bridge's HostVIPs.
type LoadBalancer struct {
	ID string `json:"id"`
	// VIPs are the virtual addresses; none: every address of the host of the backends' family (a node port).
	VIPs     []netip.Addr     `json:"vips,omitempty"`
	Protocol Protocol         `json:"protocol"`
	Port     uint16           `json:"port"`
	Backends []netip.AddrPort `json:"backends,omitempty"`
	// External says that packets that come to the host from the underlay are balanced too; without VIPs they always
	// are.
	External bool `json:"external,omitempty"`
	// FromHost says that connections of the host itself to its own addresses, 127.0.0.1 too, are balanced. It is for
	// ports that a NAT network maps (from Windows Server 2019 on), and has no effect with VIPs.
	FromHost bool `json:"fromHost,omitempty"`
	// ByClient sends all connections of one client to the same backend, as long as the backends are the same.
	ByClient bool `json:"byClient,omitempty"`
	// SourceVIP is the address that backends see as the client when packets have to come back through this host; the
	// host's own when it is not valid.
	SourceVIP netip.Addr `json:"sourceVIP,omitzero"`
	// DSR (direct server return) says that backends see the client's own address and answer it directly.
	DSR bool `json:"dsr,omitempty"`
	// PreserveDIP says that packets reach the backend as they were sent, with the virtual address and its port as their
	// destination. Then only backends on this host get packets. Without VIPs it has no effect.
	PreserveDIP bool `json:"preserveDIP,omitempty"`
	// Bridge is the ID of the Bridge of the backends if that is apart; only its pods reach the load balancer then.
	Bridge string `json:"bridge,omitempty"`
}

// Listener is what a program of the host listens on. Addr is unspecified for every address of the host.
type Listener struct {
	Protocol Protocol
	Addr     netip.Addr
	Port     uint16
}

// HeldPorts are ports of the host, First to Last, that nobody else may bind.
type HeldPorts struct {
	First, Last uint16
	TCP, UDP    bool
}

// Stats counts what went through a port, as the pod sees it.
type Stats struct {
	RxBytes, TxBytes     uint64
	RxPackets, TxPackets uint64
	RxDropped, TxDropped uint64
}

// Change leads from one plan to the next. An object in Set is new, or replaces the whole object with its ID. Objects in
// neither list are unchanged. An ID is never in both. Before a bridge, namespace or port is removed, everything that
// uses it has been removed, at the latest in the same change.
type Change struct {
	Set     Plan    `json:"set"`
	Removed Removed `json:"removed"`
}

// Removed are IDs of objects that are no longer in the plan.
type Removed struct {
	Bridges       []string `json:"bridges,omitempty"`
	Peers         []string `json:"peers,omitempty"`
	Namespaces    []string `json:"namespaces,omitempty"`
	Ports         []string `json:"ports,omitempty"`
	LoadBalancers []string `json:"loadBalancers,omitempty"`
}
