package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Objects are what the API has, and what it will soon have: Known are addresses of pods of this machine that their
// kubelets have not reported yet.
type Objects struct {
	Pods       []*corev1.Pod
	Namespaces []*corev1.Namespace
	Policies   []*networkingv1.NetworkPolicy
	Known      Addresses
}

// Cluster is what the policies of a cluster mean. It is not safe for concurrent use.
type Cluster struct {
	pods       []pod
	namespaces map[string]labels.Set
	policies   []policy
	// The groups that rules name, by their keys.
	peers map[string][]netip.Addr
	named map[string][]Endpoint
}

// Endpoint is a named port of a pod.
type Endpoint struct {
	Addr     netip.Addr
	Protocol corev1.Protocol
	Port     uint16
}

// policy is a NetworkPolicy, read.
type policy struct {
	namespace string
	selects   labels.Selector
	// in and out are nil if the policy says nothing of that direction.
	in, out *Access
}

// Compile reads the objects.
func Compile(o Objects) *Cluster {
	c := &Cluster{
		pods:       podsOf(o.Pods, o.Known),
		namespaces: map[string]labels.Set{},
		peers:      map[string][]netip.Addr{},
		named:      map[string][]Endpoint{},
	}
	for _, n := range o.Namespaces {
		c.namespaces[n.Name] = n.Labels
	}

	sorted := slices.SortedFunc(slices.Values(o.Policies), func(a, b *networkingv1.NetworkPolicy) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	for _, p := range sorted {
		c.policies = append(c.policies, c.read(p))
	}

	return c
}

// read reads one policy. Without policyTypes it is about what comes in, and if it has rules for what goes out, about
// that too.
func (c *Cluster) read(p *networkingv1.NetworkPolicy) policy {
	read := policy{namespace: p.Namespace, selects: selector(&p.Spec.PodSelector)}
	in, out := len(p.Spec.PolicyTypes) == 0, len(p.Spec.PolicyTypes) == 0 && len(p.Spec.Egress) > 0
	in = in || slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress)
	out = out || slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	if in {
		read.in = &Access{}
		for _, r := range p.Spec.Ingress {
			read.in.Rules = append(read.in.Rules, c.rule(p.Namespace, r.From, r.Ports))
		}
	}

	if out {
		read.out = &Access{}
		for _, r := range p.Spec.Egress {
			read.out.Rules = append(read.out.Rules, c.rule(p.Namespace, r.To, r.Ports))
		}
	}

	return read
}

// selector reads a selector; one that the API would have refused selects nothing.
func selector(s *metav1.LabelSelector) labels.Selector {
	read, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return read
}

// group returns the key of the pods that the peers select, and keeps their addresses. Only the selectors are in the
// key, so that rules stay as they are when pods come and go.
func (c *Cluster) group(namespace string, peers []networkingv1.NetworkPolicyPeer) string {
	type chosen struct{ namespaces, pods labels.Selector }
	var (
		all  []chosen
		text []string
	)

	for _, p := range peers {
		one := chosen{pods: labels.Everything()}
		if p.PodSelector != nil {
			one.pods = selector(p.PodSelector)
		}
		where := "namespace " + namespace
		if p.NamespaceSelector != nil {
			one.namespaces = selector(p.NamespaceSelector)
			where = "namespaces " + describe(one.namespaces)
		}

		all, text = append(all, one), append(text, where+" pods "+describe(one.pods))
	}

	slices.Sort(text)
	key := hash(strings.Join(slices.Compact(text), "\n"))
	if _, known := c.peers[key]; known {
		return key
	}

	var addrs []netip.Addr
	for _, p := range c.pods {
		if slices.ContainsFunc(all, func(one chosen) bool {
			there := p.namespace == namespace
			if one.namespaces != nil {
				set, known := c.namespaces[p.namespace]
				there = known && one.namespaces.Matches(set)
			}
			return there && one.pods.Matches(p.labels)
		}) {
			addrs = append(addrs, p.addrs...)
		}
	}

	c.peers[key] = unique(addrs)
	return key
}

// describe tells a selector of everything from one of nothing, as its text does not.
func describe(s labels.Selector) string {
	if _, selectable := s.Requirements(); !selectable {
		return "none"
	}
	return "(" + s.String() + ")"
}

// port returns the key of all pods' ports with that name, and keeps them.
func (c *Cluster) port(protocol corev1.Protocol, name string) string {
	key := hash(string(protocol) + " " + name)
	if _, known := c.named[key]; known {
		return key
	}

	ends := []Endpoint{}
	for _, p := range c.pods {
		for _, port := range p.ports {
			if port.name != name || port.protocol != protocol {
				continue
			}
			for _, a := range p.addrs {
				ends = append(ends, Endpoint{a, protocol, port.port})
			}
		}
	}

	c.named[key] = ends
	return key
}

func unique(addrs []netip.Addr) []netip.Addr {
	slices.SortFunc(addrs, netip.Addr.Compare)
	return slices.Compact(addrs)
}

// hash makes a name of a text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	const length = 8 // bytes
	return hex.EncodeToString(sum[:length])
}
