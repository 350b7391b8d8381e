// Package nettest asks a cluster's network, packet by packet, whether it does what Windows documents: pods, Services
// and node ports are reached where Windows reaches them, and are not where it does not. It owns the table of flows,
// each with the expected result and its source, the pods and Services that the flows need, and the report. It is given
// the network under test and the network namespace that stands for the world outside of the cluster.
//
// All pods run agnhost's netexec, Kubernetes' own program for such tests, on TCP port 8080 and UDP port 8081. A request
// to a pod (netexec's /dial) makes the pod call a target; for nodes and the world outside, the test itself calls from
// their network namespaces.
package nettest

import (
	"net/netip"
	"time"

	"mullion.dev/mullion/internal/spec"
)

// Image is the reference of the test pods' image with agnhost.exe, LinuxImage that of the image with agnhost for Linux.
const (
	Image      = "mullion.local/agnhost:v1"
	LinuxImage = "mullion.local/agnhost-linux:v1"
)

// externalIP is a Service's spec.externalIPs: an address for documentation (RFC 5737), which no cluster has;
// externalIP6 is the one for IPv6 (RFC 3849).
const (
	externalIP  = "203.0.113.10"
	externalIP6 = "2001:db8:113::10"
)

// ExternalAddresses returns the addresses for which the world outside must have routes to the first node, by the node's
// address of the same family.
func ExternalAddresses() []netip.Addr {
	return []netip.Addr{netip.MustParseAddr(externalIP), netip.MustParseAddr(externalIP6)}
}

// Zone is the DNS zone of the world outside, below a top-level domain for testing (RFC 6761); farName is FarAddress'
// name in it, farName6 FarAddress6's, each with an address of that family alone.
const (
	Zone     = "outside.test"
	farName  = "far." + Zone
	farName6 = "far6." + Zone
)

// FarAddress returns an address beyond the cluster's own networks at which the world outside answers.
func FarAddress() netip.Addr { return netip.MustParseAddr("198.51.100.10") }

// FarAddress6 returns the IPv6 address of that kind.
func FarAddress6() netip.Addr { return netip.MustParseAddr("2001:db8:100::10") }

// Protocol is the protocol of a flow.
type Protocol string

// The protocols of flows.
const (
	TCP  Protocol = "TCP"
	UDP  Protocol = "UDP"
	ICMP Protocol = "ICMP"
)

// Node is a node of the cluster.
type Node struct {
	Name    string
	OS      string // windows or linux
	Address netip.Addr
	// Address6 is the IPv6 address of a node with both families.
	Address6 netip.Addr
	Netns    string // path of its network namespace
	// Server2022 says that the node behaves as Windows Server 2022 or newer.
	Server2022 bool
}

// Outside is a place on the underlay that is not part of the cluster.
type Outside struct {
	Netns   string
	Address netip.Addr
	// Address6 is the IPv6 address, in a cluster with both families.
	Address6 netip.Addr
}

// Outcome is how a flow went.
type Outcome string

// The outcomes.
const (
	AsDocumented Outcome = "as documented"
	Different    Outcome = "DIFFERENT"
	Skipped      Outcome = "skipped"
)

// Result is one flow, carried out.
type Result struct {
	Flow     string        `json:"flow"`
	Protocol Protocol      `json:"protocol"`
	Expected string        `json:"expected"`
	Seen     string        `json:"seen"`
	Outcome  Outcome       `json:"outcome"`
	Took     time.Duration `json:"tookNanoseconds"`
	Source   Source        `json:"source"`
}

// Report is a whole run.
type Report struct {
	Mode    spec.Mode    `json:"mode"`
	Profile spec.Profile `json:"profile"`
	Results []Result     `json:"results"`
}

// Count returns how many results have that outcome.
func (r Report) Count(o Outcome) int {
	n := 0
	for _, x := range r.Results {
		if x.Outcome == o {
			n++
		}
	}
	return n
}
