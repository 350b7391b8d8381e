// Package dataplane makes the kernel of one Windows host look like a netplan.Plan: bridges, veth pairs, pinned network
// namespaces, addresses, routes, and nftables for address translation and load balancing. It decides nothing; the plan
// comes from the model of HNS.
//
// Every object carries its ID in the kernel (interface aliases, comments of nftables elements, names of pins), so that
// Apply compares with the kernel and not with memory: after kill -9 at any point the next Apply repairs, and what a pod
// has stays as it is while its part of the plan does.
//
// A pod's interface is a veth end whose other end is an isolated port of its network's bridge: pods of one network reach
// each other through the host's routing only. That is what makes load balancing and address translation work between two
// pods of the same subnet, and it hides their hardware addresses as an L2Bridge network of Windows does.
package dataplane
