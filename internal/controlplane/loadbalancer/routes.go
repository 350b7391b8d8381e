package loadbalancer

import (
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Route leads packets for a Service's address to a node, Via, by its address on the underlay.
type Route struct{ Address, Via netip.Addr }

// state holds the objects read from the API.
type state struct {
	services []*corev1.Service
	slices   []*discoveryv1.EndpointSlice
	nodes    []*corev1.Node
}

// routes chooses a node for each address. One node at a time serves an address, so that a connection stays where it is,
// as MetalLB does in layer 2 mode (https://metallb.io/concepts/layer2/); among the possible nodes, the one with the
// highest hash of node and address wins, so that addresses are spread, and only the addresses of a node that leaves
// move.
func (c *Config) routes(s state) []Route {
	var routes []Route
	for _, pool := range c.Pools {
		routes = append(routes, c.routesOf(pool, s)...)
	}
	slices.SortFunc(routes, func(a, b Route) int { return a.Address.Compare(b.Address) })
	// A status written by hand may name an address twice.
	return slices.CompactFunc(routes, func(a, b Route) bool { return a.Address == b.Address })
}

// routesOf returns the routes to the addresses of one pool, by nodes' addresses of the same family.
func (c *Config) routesOf(pool netip.Prefix, s state) (routes []Route) {
	nodes := map[string]netip.Addr{}
	for _, n := range s.nodes {
		addr, ok := c.address(n, familyOf(pool.Addr()))
		if ok && serving(n) && c.Serves(n.Labels[corev1.LabelOSStable]) {
			nodes[n.Name] = addr
		}
	}

	for _, svc := range s.services {
		if !ours(svc) {
			continue
		}
		candidates := nodes
		if svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
			candidates = withEndpoint(nodes, svc, discoveryv1.AddressType(familyOf(pool.Addr())), s.slices)
		}

		for _, addr := range ingress(pool, svc) {
			if via, ok := pick(addr, candidates); ok {
				routes = append(routes, Route{Address: addr, Via: via})
			}
		}
	}

	return routes
}

// address returns the node's address of a family on the underlay.
func (c *Config) address(n *corev1.Node, family corev1.IPFamily) (netip.Addr, bool) {
	for _, a := range n.Status.Addresses {
		addr, err := netip.ParseAddr(a.Address)
		if a.Type != corev1.NodeInternalIP || err != nil || familyOf(addr) != family {
			continue
		}
		if slices.ContainsFunc(c.Underlays, func(p netip.Prefix) bool { return p.Contains(addr) }) {
			return addr, true
		}
	}
	return netip.Addr{}, false
}

// serving reports whether a load balancer may send to the node, by the rules of upstream's service controller.
// https://github.com/kubernetes/cloud-provider/blob/v0.36.3/controllers/service/controller.go
func serving(n *corev1.Node) bool {
	if text, ok := n.Labels[corev1.LabelNodeExcludeBalancers]; ok {
		if exclude, err := strconv.ParseBool(text); err != nil || exclude {
			return false
		}
	}
	return n.DeletionTimestamp == nil && slices.ContainsFunc(n.Status.Conditions, func(cond corev1.NodeCondition) bool {
		return cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue
	})
}

// withEndpoint returns the nodes that have a ready endpoint of the Service in one family. kube-proxy's answer at
// spec.healthCheckNodePort says the same.
func withEndpoint(nodes map[string]netip.Addr, svc *corev1.Service, family discoveryv1.AddressType,
	all []*discoveryv1.EndpointSlice,
) map[string]netip.Addr {
	local := map[string]netip.Addr{}
	for _, slice := range all {
		if slice.Namespace != svc.Namespace || slice.Labels[discoveryv1.LabelServiceName] != svc.Name ||
			slice.AddressType != family {
			continue
		}

		for _, e := range slice.Endpoints {
			if e.NodeName == nil || (e.Conditions.Ready != nil && !*e.Conditions.Ready) {
				continue
			}
			if addr, ok := nodes[*e.NodeName]; ok {
				local[*e.NodeName] = addr
			}
		}
	}

	return local
}

// pick is rendezvous hashing.
func pick(addr netip.Addr, nodes map[string]netip.Addr) (via netip.Addr, ok bool) {
	var best uint64
	var name string
	for n, at := range nodes {
		h := fnv.New64a()
		_, _ = h.Write([]byte(n + "/" + addr.String()))

		// FNV alone changes few high bits at the end of its input.
		sum := h.Sum64() * 0x9e3779b97f4a7c15
		sum ^= sum >> 32
		if !ok || sum > best || (sum == best && strings.Compare(n, name) < 0) {
			best = sum
			name = n
			via = at
			ok = true
		}
	}

	return via, ok
}
