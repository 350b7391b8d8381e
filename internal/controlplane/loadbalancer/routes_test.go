package loadbalancer

import (
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/spec"
)

// config has the pools of the text, with commas between.
func config(pools string) Config {
	var all []netip.Prefix
	for pool := range strings.SplitSeq(pools, ",") {
		all = append(all, netip.MustParsePrefix(pool))
	}
	return Config{
		Pools:     all,
		Underlays: []netip.Prefix{netip.MustParsePrefix("10.213.0.0/24"), netip.MustParsePrefix("fd00:213::/64")},
		Serves:    func(string) bool { return true },
		Log:       slog.New(slog.DiscardHandler),
	}
}

func node(name, os string, addresses ...string) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelOSStable: os}},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}

	for _, address := range addresses {
		at := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address}
		n.Status.Addresses = append(n.Status.Addresses, at)
	}

	return n
}

func service(name, addresses string, policy corev1.ServiceExternalTrafficPolicy) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: policy},
	}
	for address := range strings.FieldsSeq(addresses) {
		s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: address})
	}
	return s
}

func endpoints(service, namespace string, ready bool, nodes ...string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:      service,
			Namespace: namespace,
			Labels:    map[string]string{discoveryv1.LabelServiceName: service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}

	for _, n := range nodes {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			NodeName:   &n,
			Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		})
	}

	return slice
}

func TestRoutes(t *testing.T) {
	const addr, addr6 = "10.213.0.224", "fd00:213::e0"
	cluster, local := corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal
	windows, linux := node("win-1", spec.Windows, "10.213.0.11"), node("linux-1", spec.Linux, "10.213.0.12")
	down := node("down", spec.Linux, "10.213.0.13")
	down.Status.Conditions[0].Status = corev1.ConditionUnknown
	excluded := node("excluded", spec.Linux, "10.213.0.14")
	excluded.Labels[corev1.LabelNodeExcludeBalancers] = "true"
	far := node("far", spec.Linux, "192.0.2.7")
	both := node("both", spec.Windows, "10.213.0.15", "fd00:213::f")

	sixOn := endpoints("s", "default", true, "both")
	sixOn.AddressType = discoveryv1.AddressTypeIPv6
	classed := service("s", addr, cluster)
	classed.Spec.LoadBalancerClass = new("example.com/other")
	for _, tt := range []struct {
		name   string
		s      state
		linux  bool // only Linux nodes have a kube-proxy
		routed string
	}{
		{
			name:   "one_node",
			s:      state{services: []*corev1.Service{service("s", addr, cluster)}, nodes: []*corev1.Node{windows}},
			routed: addr + " via 10.213.0.11",
		},
		{
			name:  "no_kube_proxy",
			linux: true,
			s: state{
				services: []*corev1.Service{service("s", addr, cluster)},
				nodes:    []*corev1.Node{windows, linux},
			},
			routed: addr + " via 10.213.0.12",
		},
		{
			name: "nobody_can",
			s: state{
				services: []*corev1.Service{service("s", addr, cluster)},
				nodes:    []*corev1.Node{down, excluded, far},
			},
		},
		{name: "another_class", s: state{services: []*corev1.Service{classed}, nodes: []*corev1.Node{linux}}},
		{
			name: "not_of_the_pool",
			s: state{
				services: []*corev1.Service{service("s", "203.0.113.9", cluster)},
				nodes:    []*corev1.Node{linux},
			},
		},
		{
			name: "same_address_twice",
			s: state{
				services: []*corev1.Service{service("a", addr, cluster), service("b", addr, cluster)},
				nodes:    []*corev1.Node{linux},
			},
			routed: addr + " via 10.213.0.12",
		},
		{
			name:   "local",
			routed: addr + " via 10.213.0.12",
			s: state{
				services: []*corev1.Service{service("s", addr, local)},
				nodes:    []*corev1.Node{windows, linux},
				slices: []*discoveryv1.EndpointSlice{
					endpoints("s", "default", true, "linux-1"), endpoints("s", "other", true, "win-1"),
					endpoints("t", "default", true, "win-1"),
				},
			},
		},
		{
			name: "both_families",
			s: state{
				services: []*corev1.Service{service("s", addr+" "+addr6, cluster)},
				nodes:    []*corev1.Node{both},
			},
			routed: addr + " via 10.213.0.15, " + addr6 + " via fd00:213::f",
		},
		{
			name: "IPv6_on_nodes_with_IPv4_alone",
			s: state{
				services: []*corev1.Service{service("s", addr6, cluster)},
				nodes:    []*corev1.Node{windows, linux},
			},
		},
		{
			name: "local_by_family", // the slices of the two families name different nodes
			s: state{
				services: []*corev1.Service{service("s", addr+" "+addr6, local)},
				nodes:    []*corev1.Node{both, linux},
				slices:   []*discoveryv1.EndpointSlice{endpoints("s", "default", true, "linux-1"), sixOn},
			},
			routed: addr + " via 10.213.0.12, " + addr6 + " via fd00:213::f",
		},
		{
			name: "local_not_ready",
			s: state{
				services: []*corev1.Service{service("s", addr, local)},
				nodes:    []*corev1.Node{windows, linux},
				slices: []*discoveryv1.EndpointSlice{
					endpoints("s", "default", false, "linux-1"),
				},
			},
		},
		{
			name: "local_on_a_node_that_is_down",
			s: state{
				services: []*corev1.Service{service("s", addr, local)},
				nodes:    []*corev1.Node{down, linux},
				slices: []*discoveryv1.EndpointSlice{
					endpoints("s", "default", true, "down"),
				},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := config("10.213.0.224/28,fd00:213::e0/124")
			if tt.linux {
				c.Serves = func(os string) bool { return os == spec.Linux }
			}
			if got := text(c.routes(tt.s)); got != tt.routed {
				t.Errorf("routes = %q, want %q", got, tt.routed)
			}
		})
	}
}

// When a node leaves, only its addresses move; before that, each node has its share.
func TestRoutesSpreadAndStay(t *testing.T) {
	c := config("10.213.0.192/26")
	var s state
	for i := range 4 {
		s.nodes = append(s.nodes, node(fmt.Sprintf("win-%d", i+1), spec.Windows, fmt.Sprintf("10.213.0.%d", 11+i)))
	}

	for i := range 60 {
		s.services = append(s.services, service(fmt.Sprintf("s%d", i), fmt.Sprintf("10.213.0.%d", 192+i),
			corev1.ServiceExternalTrafficPolicyCluster))
	}

	before, share := map[netip.Addr]netip.Addr{}, map[netip.Addr]int{}
	for _, r := range c.routes(s) {
		before[r.Address] = r.Via
		share[r.Via]++
	}

	for _, n := range s.nodes {
		addr, _ := c.address(n, corev1.IPv4Protocol)
		if share[addr] < 5 {
			t.Errorf("node %s has %d of 60 addresses", n.Name, share[addr])
		}
	}

	gone, _ := c.address(s.nodes[0], corev1.IPv4Protocol)
	s.nodes = s.nodes[1:]
	routes := c.routes(s)
	if len(routes) != 60 {
		t.Errorf("%d routes, want 60", len(routes))
	}

	for _, r := range routes {
		if r.Via == gone || (before[r.Address] != gone && r.Via != before[r.Address]) {
			t.Errorf("%s went from %s to %s", r.Address, before[r.Address], r.Via)
		}
	}
}
