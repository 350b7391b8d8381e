//go:build kernel

package dataplane_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
	"mullion.dev/mullion/internal/network/policy"
	"mullion.dev/mullion/internal/network/policy/filter"
)

// policed is a cluster whose node "a" has the pods a5 and a6, and whose node "b" has b5.
type policed struct {
	objects policy.Objects
	filter  filter.Filter
}

func newPoliced(ns string) *policed {
	p := &policed{filter: filter.Filter{Netns: ns}}
	for name, addrs := range map[string][]string{
		"a5": {"10.244.1.5", "fd00:244:1:1::5"}, "a6": {"10.244.1.6", "fd00:244:1:1::6"}, "b5": {"10.244.2.5"},
	} {
		pod := &corev1.Pod{}
		pod.Name = name
		pod.Namespace = "default"
		pod.UID = types.UID(name)
		pod.Labels = map[string]string{"pod": name}
		pod.Spec.NodeName = name[:1]
		pod.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 80}}}}
		for _, a := range addrs {
			pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: a})
		}

		p.objects.Pods = append(p.objects.Pods, pod)
	}

	return p
}

// set makes these the policies, each of one direction and for one pod, which name the pods that may pass.
func (p *policed) set(t *testing.T, policies ...*networkingv1.NetworkPolicy) {
	t.Helper()
	p.objects.Policies = policies
	if _, err := p.filter.Apply(t.Context(), policy.Compile(p.objects).Ruleset("a")); err != nil {
		t.Fatal(err)
	}
}

func named(pods ...string) []networkingv1.NetworkPolicyPeer {
	var peers []networkingv1.NetworkPolicyPeer
	for _, pod := range pods {
		peers = append(peers, networkingv1.NetworkPolicyPeer{
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"pod": pod}},
		})
	}
	return peers
}

func block(cidr string, except ...string) []networkingv1.NetworkPolicyPeer {
	return []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: cidr, Except: except}}}
}

func intoA5(rules ...networkingv1.NetworkPolicyIngressRule) *networkingv1.NetworkPolicy {
	np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "into-a5", Namespace: "default"}}
	np.Spec.PodSelector.MatchLabels = map[string]string{"pod": "a5"}
	np.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	np.Spec.Ingress = rules
	return np
}

func outOf(pod string, rules ...networkingv1.NetworkPolicyEgressRule) *networkingv1.NetworkPolicy {
	np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "out-of-" + pod, Namespace: "default"}}
	np.Spec.PodSelector.MatchLabels = map[string]string{"pod": pod}
	np.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
	np.Spec.Egress = rules
	return np
}

func from(peers []networkingv1.NetworkPolicyPeer, ports ...networkingv1.NetworkPolicyPort,
) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{From: peers, Ports: ports}
}

func to(peers []networkingv1.NetworkPolicyPeer, ports ...networkingv1.NetworkPolicyPort,
) networkingv1.NetworkPolicyEgressRule {
	return networkingv1.NetworkPolicyEgressRule{To: peers, Ports: ports}
}

func tcp(port any, last ...int32) networkingv1.NetworkPolicyPort {
	read := intstr.FromString("")
	switch p := port.(type) {
	case int:
		read = intstr.FromInt32(int32(p)) // a port
	case string:
		read = intstr.FromString(p)
	}

	np := networkingv1.NetworkPolicyPort{Port: &read}
	if len(last) > 0 {
		np.EndPort = &last[0]
	}

	return np
}

func passes(t *testing.T, ns, network, addr string, want bool) {
	t.Helper()
	timeout := 300 * time.Millisecond
	if want {
		timeout = 3 * time.Second
	}
	if _, _, err := netnstest.Ask(ns, network, addr, timeout); (err == nil) != want {
		t.Errorf("%s to %s: %v, want it to pass: %t", network, addr, err, want)
	}
}

// Policies hold between pods of one host, and of two, also by a load balancer; a pod's own host always reaches it.
func TestNetworkPolicy(t *testing.T) {
	a, b, outside := fabric(t)
	plan := dataplanetest.Plan("10.244.1")
	plan.LoadBalancers = both("lb", "10.96.0.9", 80, func(*netplan.LoadBalancer) {}, "10.244.1.5:80")
	plan.Normalize()
	a.apply(t, plan)
	a5 := a.Pin(dataplanetest.NSA)
	a6 := a.Pin(dataplanetest.NSB)
	b5 := b.Pin(dataplanetest.NSA)

	netnstest.Serve(t, a5, "a5", "10.244.1.5:80")
	netnstest.Serve(t, a5, "high", "10.244.1.5:8080")
	netnstest.Serve(t, a6, "a6", "10.244.1.6:80")
	p := newPoliced(a.ns)
	p.set(t)
	for _, way := range []string{"10.244.1.5:80", "10.96.0.9:80"} {
		netnstest.Flow(t, a6, way, "a5", "10.244.1.6")
	}

	netnstest.Flow(t, b5, "10.244.1.5:80", "a5", "10.244.2.5")

	p.set(t, intoA5())
	for _, ns := range []string{a6, b5, outside} {
		netnstest.NoFlow(t, ns, "10.244.1.5:80")
	}

	netnstest.NoFlow(t, a6, "10.96.0.9:80")
	netnstest.Flow(t, a.ns, "10.244.1.5:80", "a5", "") // the host
	netnstest.Flow(t, a5, "10.96.0.9:80", "a5", "")    // itself, by the load balancer
	netnstest.Flow(t, a5, "10.244.1.6:80", "a6", "")   // what it opens itself, and the replies

	p.set(t, intoA5(from(named("a6"))))
	netnstest.Flow(t, a6, "10.244.1.5:80", "a5", "")
	netnstest.Flow(t, a6, "10.96.0.9:80", "a5", "")
	netnstest.NoFlow(t, b5, "10.244.1.5:80")
	run(t, a6, "ping -c1 -W2 10.244.1.5 >&2")

	p.set(t, intoA5(from(nil, tcp("web"))))
	for addr, pass := range map[string]bool{"10.244.1.5:80": true, "10.96.0.9:80": true, "10.244.1.5:8080": false} {
		passes(t, a6, "tcp", addr, pass)
		passes(t, a6, "udp", addr, false)
	}

	p.set(t, intoA5(from(block("10.244.0.0/16", "10.244.1.6/32"), tcp(8000, 8100), tcp(8050, 8200))))
	passes(t, b5, "tcp", "10.244.1.5:8080", true)
	passes(t, b5, "tcp", "10.244.1.5:80", false)
	passes(t, a6, "tcp", "10.244.1.5:8080", false)

	p.set(t, outOf("a6", to(named("a5"), tcp("web"))))
	passes(t, a6, "tcp", "10.96.0.9:80", true)
	passes(t, a6, "tcp", "10.244.1.5:8080", false)
	passes(t, a6, "tcp", "10.244.2.5:80", false)
	netnstest.Flow(t, b5, "10.244.1.6:80", "a6", "") // its replies
	if out := run(t, a6, "ping -c1 -W1 10.244.1.2 >&2 && echo reached"); !strings.Contains(out, "reached") {
		t.Error("the pod does not reach its host")
	}

	// A new process replaces the table, and knows the pods from the one before.
	p.filter = filter.Filter{Netns: a.ns}
	found, err := p.filter.Addresses(t.Context())
	if want := netip.MustParseAddr("10.244.1.6"); err != nil || len(found) != 1 || found["a6"][0] != want {
		t.Errorf("found %v, %v, want %s for a6", found, err, want)
	}

	p.set(t)
	netnstest.Flow(t, a6, "10.244.1.5:8080", "high", "")
	run(t, a.ns, "nft delete table inet "+policy.Table)
	if err := p.filter.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.set(t, intoA5()) // the table is made again
	netnstest.NoFlow(t, a6, "10.244.1.5:80")
}

// Packets for a virtual address that a pod keeps are for that pod.
func TestNetworkPolicyPreserveDIP(t *testing.T) {
	a, _, outside := fabric(t)
	plan := dataplanetest.Plan("10.244.1")
	plan.LoadBalancers = both("kept", "203.0.113.20", 80, keeping, "10.244.1.5:80")
	plan.Normalize()
	a.apply(t, plan)
	run(t, outside, "ip route add 203.0.113.20 via 10.213.0.11")
	netnstest.Serve(t, a.Pin(dataplanetest.NSA), "a5", "203.0.113.20:80")
	p := newPoliced(a.ns)
	p.set(t, intoA5(from(block("10.213.0.100/32"))))
	netnstest.Flow(t, outside, "203.0.113.20:80", "a5", "10.213.0.100")
	p.set(t, intoA5())
	netnstest.NoFlow(t, outside, "203.0.113.20:80")
	netnstest.NoFlow(t, a.Pin(dataplanetest.NSB), "203.0.113.20:80")
}

// Packets between pods of an L2Tunnel network pass their host twice, by way of the router.
func TestNetworkPolicyL2Tunnel(t *testing.T) {
	u := newUnderlay(t)
	run(t, u.router, "ip route add 10.244.1.0/24 via 10.213.0.11; ip route add 10.244.2.0/24 via 10.213.0.12")
	plan := func(subnet string) netplan.Plan {
		p := network(netplan.L2Tunnel, subnet)
		p.Bridges[0].Addrs, p.Bridges[0].Gateways = []netip.Prefix{netip.MustParsePrefix(subnet + ".2/24")}, nil
		return p
	}

	u.a.apply(t, plan("10.244.1"))
	u.b.apply(t, plan("10.244.2"))
	_, a6, b5 := u.serve(t)
	p := newPoliced(u.a.ns)
	p.set(t, intoA5(from(named("a6"))))
	netnstest.Flow(t, a6, "10.244.1.5:80", "a5", "10.244.1.6")
	netnstest.NoFlow(t, b5, "10.244.1.5:80")
	p.set(t, intoA5(from(named("b5"))))
	netnstest.NoFlow(t, a6, "10.244.1.5:80")
	netnstest.Flow(t, b5, "10.244.1.5:80", "a5", "10.244.2.5")
	p.set(t, outOf("a6", to(named("b5"))))
	netnstest.NoFlow(t, a6, "10.244.1.5:80")
	netnstest.Flow(t, a6, "10.244.2.5:80", "b5", "10.244.1.6")
}

// In an overlay policies see the addresses of pods, not of hosts.
func TestNetworkPolicyOverlay(t *testing.T) {
	u := newUnderlay(t)
	planA, planB := overlay("10.244.1", "11"), overlay("10.244.2", "12")
	planA.Peers = []netplan.Peer{peer("b", "10.244.2.0/24", "12")}
	planB.Peers = []netplan.Peer{peer("a", "10.244.1.0/24", "11")}
	u.a.apply(t, planA)
	u.b.apply(t, planB)
	a5, a6, b5 := u.serve(t)
	p := newPoliced(u.a.ns)
	p.set(t, intoA5(from(named("b5"))), outOf("a5", to(named("a6"))))
	netnstest.Flow(t, b5, "10.244.1.5:80", "a5", "10.244.2.5")
	netnstest.NoFlow(t, a6, "10.244.1.5:80")
	netnstest.Flow(t, a5, "10.244.1.6:80", "a6", "10.244.1.5")
	netnstest.NoFlow(t, a5, "10.244.2.5:80")
	netnstest.NoFlow(t, a5, "198.51.100.1:80")
}
