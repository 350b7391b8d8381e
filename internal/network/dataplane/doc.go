// Package dataplane makes the kernel of one Windows host look like a netplan.Plan: switches, veth pairs, pinned network
// namespaces, addresses, routes, VXLAN, and nftables for address translation, load balancing and access rules. It
// decides nothing; the plan comes from the model of HNS. Both families are in one table, each with sets and maps of its
// own (vip and vip6); VLAN tags, L2Tunnel's way by the router and peers of overlays are for IPv4 only.
//
// Every object carries its ID in the kernel (interface aliases, comments of nftables elements, names of pins), so that
// Apply compares with the kernel and not with memory: after kill -9 at any point the next Apply repairs, and a pod's
// interface stays as it is as long as its part of the plan does. ApplyChange carries out one change, and costs what the
// change costs.
//
// A pod's interface is a veth end whose other end is an isolated port of its network's bridge: pods of one network
// reach each other through the host's routing only. That is what makes load balancing, address translation and access
// rules work between two pods of the same subnet, and it hides their hardware addresses as an L2Bridge network of
// Windows does.
//
//	L2Bridge     the host routes between the bridge and its uplink; with a VLAN tag by a routing table of the switch
//	L2Tunnel     that table leads to the uplink's default gateway, for packets between the host's own pods too
//	Overlay      the host routes to a VXLAN interface, whose routes, neighbours and forwarding entries are the Peers;
//	             one whose subnet another network has too is apart: it has a namespace with all of this for itself
//	NAT          what leaves the bridge is hidden behind the host
//	Transparent  no bridge: a pod's interface is a macvlan of the uplink, and so is the host's own way to the pods. Their
//	             packets do not pass the host, so there are no load balancers, and access rules are in the pod's namespace
//
// The nftables table has rules that never change with the plan, and a chain for each number of backends, so the cost of
// a packet does not depend on the size of the plan. Load balancers, translation and access rules are elements of sets
// and maps. A load balancer's backend is looked up by the virtual address and a number below how many there are:
//
//	vip     10.96.0.10 . tcp . 80      -> goto vip_2
//	vip_to  10.96.0.10 . tcp . 80 . 0  -> 10.244.1.5 . 8080
//	vip_to  10.96.0.10 . tcp . 80 . 1  -> 10.244.1.6 . 8080
//
// The folder testdata has the whole table for a plan of each mode, as the kernel gets it.
//
// With PreserveDIP nothing is translated: the map kept_to leads to a mark, the mark by a routing rule to the pod, and
// the pod's namespace has a local route for the virtual address (keep_linux.go).
package dataplane
