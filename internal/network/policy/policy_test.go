package policy

import (
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the goldens anew")

// The cluster of the tests. Each pod is on the node of its first letter, so that "one" is where policies are looked at.
func objects(t *testing.T, policies ...string) Objects {
	t.Helper()
	o := Objects{}
	for _, n := range []string{"default", "other", "third"} {
		namespace := &corev1.Namespace{}
		namespace.Name, namespace.Labels = n, map[string]string{"kubernetes.io/metadata.name": n, "team": n[:1]}
		o.Namespaces = append(o.Namespaces, namespace)
	}

	for i, p := range []struct {
		name, labels string
		change       func(*corev1.Pod)
	}{
		{"default/web", "app=web", nil},                                                                    // 10.0.0.1
		{"default/client", "app=client,tier=front", nil},                                                   // 10.0.0.2
		{"other/client", "app=client", nil},                                                                // 10.0.0.3
		{"third/db", "app=db", nil},                                                                        // 10.0.0.4
		{"other/host", "app=client", func(p *corev1.Pod) { p.Spec.HostNetwork = true }},                    // 10.0.0.5
		{"other/ended", "app=client", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }},        // 10.0.0.6
		{"other/process", "app=client", func(p *corev1.Pod) { p.Spec.SecurityContext = hostProcessPod() }}, // 10.0.0.7
		{"other/starts", "app=client", func(p *corev1.Pod) { p.Status.PodIPs = nil }},
	} {
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name, _ = strings.Cut(p.name, "/")
		pod.UID = types.UID(p.name)
		pod.Spec.NodeName = "one"
		pod.Labels = map[string]string{}
		for pair := range strings.SplitSeq(p.labels, ",") {
			key, value, _ := strings.Cut(pair, "=")
			pod.Labels[key] = value
		}

		pod.Status.PodIPs = []corev1.PodIP{{IP: fmt.Sprintf("10.0.0.%d", i+1)}, {IP: fmt.Sprintf("fd00::%d", i+1)}}
		pod.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{
			{Name: "serve", ContainerPort: int32(8000 + i)}, {Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP},
		}}}
		if p.change != nil {
			p.change(pod)
		}
		o.Pods = append(o.Pods, pod)
	}

	for i, text := range policies {
		p := &networkingv1.NetworkPolicy{}
		if err := yaml.UnmarshalStrict([]byte(text), &p.Spec); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		p.Namespace, p.Name = "default", fmt.Sprint("p", i)
		o.Policies = append(o.Policies, p)
	}

	return o
}

func hostProcessPod() *corev1.PodSecurityContext {
	yes := true
	return &corev1.PodSecurityContext{WindowsOptions: &corev1.WindowsSecurityContextOptions{HostProcess: &yes}}
}

// packet is the first of a connection: "10.0.0.2 > 10.0.0.1 tcp 80".
func (c *Cluster) passes(t *testing.T, packet string) bool {
	t.Helper()
	f := strings.Fields(packet)
	from, to := netip.MustParseAddr(f[0]), netip.MustParseAddr(f[2])
	var port uint16
	if len(f) > 4 {
		if _, err := fmt.Sscan(f[4], &port); err != nil {
			t.Fatal(err)
		}
	}

	for _, pod := range c.Node("one") {
		if (pod.Addr == from && pod.Out != nil && !c.allows(*pod.Out, to, Endpoint{to, protocol(f[3]), port})) ||
			(pod.Addr == to && pod.In != nil && !c.allows(*pod.In, from, Endpoint{to, protocol(f[3]), port})) {
			return false
		}
	}

	return true
}

func protocol(name string) corev1.Protocol { return corev1.Protocol(strings.ToUpper(name)) }

func (c *Cluster) allows(a Access, other netip.Addr, end Endpoint) bool {
	return slices.ContainsFunc(a.Rules, func(r Rule) bool {
		peer := r.Anyone || (r.Group != "" && slices.Contains(c.peers[r.Group], other)) ||
			slices.ContainsFunc(r.Blocks, func(b Block) bool {
				return b.CIDR.Contains(other) &&
					!slices.ContainsFunc(b.Except, func(p netip.Prefix) bool { return p.Contains(other) })
			})
		return peer && (r.AnyPort || slices.ContainsFunc(r.Ports, func(p Ports) bool {
			if p.Named != "" {
				return slices.Contains(c.named[p.Named], end)
			}
			return p.Protocol == end.Protocol && p.First <= end.Port && end.Port <= p.Last
		}))
	})
}

const (
	web     = "podSelector: {matchLabels: {app: web}}\n"
	ingress = web + "policyTypes: [Ingress]\n"
	egress  = "podSelector: {matchLabels: {app: client}}\npolicyTypes: [Egress]\n"
)

// Each clause of https://kubernetes.io/docs/concepts/services-networking/network-policies/ and of the API's reference,
// https://kubernetes.io/docs/reference/kubernetes-api/policy-resources/network-policy-v1/ (1.37).
func TestPolicies(t *testing.T) {
	for _, tc := range []struct {
		name     string
		policies []string
		pass     []string
		drop     []string
	}{
		{"no policy", nil, []string{"10.0.0.2 > 10.0.0.1 tcp 80", "1.1.1.1 > 10.0.0.1 icmp"}, nil},
		{
			"deny all that comes in",
			[]string{"podSelector: {}\npolicyTypes: [Ingress]\n"},
			[]string{"10.0.0.2 > 10.0.0.3 tcp 80", "10.0.0.2 > 9.9.9.9 udp 53"},
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80", "9.9.9.9 > 10.0.0.2 icmp", "fd00::3 > fd00::1 udp 1"},
		},
		{
			"allow all that comes in",
			[]string{"podSelector: {}\npolicyTypes: [Ingress]\ningress: [{}]\n"},
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80", "9.9.9.9 > 10.0.0.2 icmp"},
			nil,
		},
		{
			"deny all that goes out",
			[]string{"podSelector: {}\npolicyTypes: [Egress]\n"},
			[]string{"10.0.0.3 > 10.0.0.1 tcp 80"},
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80", "10.0.0.1 > 9.9.9.9 tcp 80", "fd00::1 > fd00::9 tcp 80"},
		},
		{
			"deny all",
			[]string{"podSelector: {}\npolicyTypes: [Ingress, Egress]\n"},
			nil,
			[]string{"10.0.0.3 > 10.0.0.1 tcp 80", "10.0.0.1 > 10.0.0.3 tcp 80"},
		},
		{
			"without types: in",
			[]string{"podSelector: {}\n"},
			[]string{"10.0.0.1 > 10.0.0.3 tcp 80"},
			[]string{"10.0.0.3 > 10.0.0.1 tcp 80"},
		},
		{
			"without types, with egress: both",
			[]string{"podSelector: {}\negress: [{}]\n"},
			[]string{"10.0.0.1 > 10.0.0.3 tcp 80"},
			[]string{"10.0.0.3 > 10.0.0.1 tcp 80"},
		},
		{
			"type egress alone, with rules for ingress",
			[]string{"podSelector: {}\npolicyTypes: [Egress]\ningress: [{from: [{podSelector: {}}]}]\negress: [{}]\n"},
			[]string{"10.0.0.3 > 10.0.0.1 tcp 80", "10.0.0.1 > 10.0.0.3 tcp 80"},
			nil,
		},
		{
			"another pod is not selected",
			[]string{ingress},
			[]string{"10.0.0.3 > 10.0.0.2 tcp 80"},
			[]string{"10.0.0.3 > 10.0.0.1 tcp 80"},
		},
		{
			"podSelector: of the policy's namespace",
			[]string{ingress + "ingress: [{from: [{podSelector: {matchLabels: {app: client}}}]}]\n"},
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80", "10.0.0.2 > 10.0.0.1 sctp 80", "fd00::2 > fd00::1 icmp"},
			[]string{"10.0.0.3 > 10.0.0.1 tcp 80", "10.0.0.4 > 10.0.0.1 tcp 80", "9.9.9.9 > 10.0.0.1 tcp 80"},
		},
		{
			"empty podSelector: all of the namespace",
			[]string{ingress + "ingress: [{from: [{podSelector: {}}]}]\n"},
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80"},
			[]string{"10.0.0.3 > 10.0.0.1 tcp 80"},
		},
		{
			"namespaceSelector",
			[]string{ingress + "ingress: [{from: [{namespaceSelector: {matchLabels: {team: o}}}]}]\n"},
			[]string{"10.0.0.3 > 10.0.0.1 tcp 80"},
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80", "10.0.0.4 > 10.0.0.1 tcp 80"},
		},
		{
			"empty namespaceSelector: all pods, and nobody else",
			[]string{ingress + "ingress: [{from: [{namespaceSelector: {}}]}]\n"},
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80", "10.0.0.3 > 10.0.0.1 tcp 80"},
			[]string{"9.9.9.9 > 10.0.0.1 tcp 80"},
		},
		{
			"the two selectors of one peer: and",
			[]string{ingress + "ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: team, operator: In, values: [o, t]}]}, podSelector: {matchLabels: {app: client}}}]}]\n"},
			[]string{"10.0.0.3 > 10.0.0.1 tcp 80"},
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80", "10.0.0.4 > 10.0.0.1 tcp 80"},
		},
		{
			"two peers: or",
			[]string{ingress + "ingress: [{from: [{namespaceSelector: {matchLabels: {team: o}}}, {podSelector: {matchLabels: {app: client}}}]}]\n"},
			[]string{"10.0.0.3 > 10.0.0.1 tcp 80", "10.0.0.2 > 10.0.0.1 tcp 80"},
			[]string{"10.0.0.4 > 10.0.0.1 tcp 80"},
		},
		{
			"expressions of labels",
			[]string{ingress + "ingress: [{from: [{namespaceSelector: {}, podSelector: {matchExpressions: [{key: app, operator: In, values: [client]}, {key: tier, operator: DoesNotExist}]}}]}]\n"},
			[]string{"10.0.0.3 > 10.0.0.1 tcp 80"},
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80", "10.0.0.4 > 10.0.0.1 tcp 80"},
		},
		{
			"pods on the host's network, ended ones and HostProcess pods are no peers",
			[]string{ingress + "ingress: [{from: [{namespaceSelector: {}}]}]\n"},
			nil,
			[]string{"10.0.0.5 > 10.0.0.1 tcp 80", "10.0.0.6 > 10.0.0.1 tcp 80", "10.0.0.7 > 10.0.0.1 tcp 80"},
		},
		{
			"ipBlock with except",
			[]string{ingress + "ingress: [{from: [{ipBlock: {cidr: 172.17.0.0/16, except: [172.17.1.0/24, 172.17.2.0/24]}}]}]\n"},
			[]string{"172.17.0.1 > 10.0.0.1 tcp 80"},
			[]string{"172.17.1.1 > 10.0.0.1 tcp 80", "172.17.2.9 > 10.0.0.1 tcp 80", "10.0.0.2 > 10.0.0.1 tcp 80", "fd00::2 > fd00::1 tcp 80"},
		},
		{
			"except of one peer, allowed by another",
			[]string{ingress + "ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.2/32]}}, {ipBlock: {cidr: 10.0.0.2/32}}]}]\n"},
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80"},
			nil,
		},
		{
			"ipBlock of IPv6, and of everything",
			[]string{ingress + "ingress: [{from: [{ipBlock: {cidr: 'fd00::/64'}}, {ipBlock: {cidr: 0.0.0.0/0}}]}]\n"},
			[]string{"fd00::2 > fd00::1 tcp 80", "8.8.8.8 > 10.0.0.1 tcp 80"},
			[]string{"2001:db8::1 > fd00::1 tcp 80"},
		},
		{
			"an ipBlock that is none, and an except that is none",
			[]string{ingress + "ingress: [{from: [{ipBlock: {cidr: everything}}, {ipBlock: {cidr: 10.0.0.0/8, except: [x]}}]}]\n"},
			nil,
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80"},
		},
		{
			"ports: TCP unless said",
			[]string{ingress + "ingress: [{ports: [{port: 80}, {protocol: UDP, port: 53}]}]\n"},
			[]string{"9.9.9.9 > 10.0.0.1 tcp 80", "9.9.9.9 > 10.0.0.1 udp 53"},
			[]string{"9.9.9.9 > 10.0.0.1 udp 80", "9.9.9.9 > 10.0.0.1 tcp 53", "9.9.9.9 > 10.0.0.1 icmp"},
		},
		{
			"a protocol without a port",
			[]string{ingress + "ingress: [{ports: [{protocol: SCTP}]}]\n"},
			[]string{"9.9.9.9 > 10.0.0.1 sctp 80"},
			[]string{"9.9.9.9 > 10.0.0.1 tcp 80"},
		},
		{
			"endPort",
			[]string{ingress + "ingress: [{ports: [{port: 8000, endPort: 8010}]}]\n"},
			[]string{"9.9.9.9 > 10.0.0.1 tcp 8000", "9.9.9.9 > 10.0.0.1 tcp 8010"},
			[]string{"9.9.9.9 > 10.0.0.1 tcp 8011", "9.9.9.9 > 10.0.0.1 tcp 7999"},
		},
		{
			"ports that are none",
			[]string{ingress + "ingress: [{ports: [{port: 80, endPort: 79}, {endPort: 9}, {port: serve, endPort: 9000}, {port: 70000}, {protocol: ICMP}]}]\n"},
			nil,
			[]string{"9.9.9.9 > 10.0.0.1 tcp 80", "9.9.9.9 > 10.0.0.1 tcp 8000", "9.9.9.9 > 10.0.0.1 icmp"},
		},
		{
			"a named port of the selected pods",
			[]string{"podSelector: {}\ningress: [{ports: [{port: serve}, {port: dns, protocol: UDP}]}]\n"},
			[]string{"9.9.9.9 > 10.0.0.1 tcp 8000", "9.9.9.9 > 10.0.0.2 tcp 8001", "fd00::9 > fd00::1 udp 53"},
			[]string{"9.9.9.9 > 10.0.0.1 tcp 8001", "9.9.9.9 > 10.0.0.1 tcp 53", "9.9.9.9 > 10.0.0.1 udp 8000"},
		},
		{
			"a named port of the peers",
			[]string{egress + "egress: [{to: [{namespaceSelector: {matchLabels: {team: o}}}], ports: [{port: serve}]}]\n"},
			[]string{"10.0.0.2 > 10.0.0.3 tcp 8002"},
			[]string{"10.0.0.2 > 10.0.0.4 tcp 8003", "10.0.0.2 > 10.0.0.3 tcp 8003", "10.0.0.2 > 9.9.9.9 tcp 8002"},
		},
		{
			"a name that no pod has",
			[]string{ingress + "ingress: [{ports: [{port: nothing}]}]\n"},
			nil,
			[]string{"9.9.9.9 > 10.0.0.1 tcp 8000"},
		},
		{
			"peers and ports: and",
			[]string{ingress + "ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}]\n"},
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80"},
			[]string{"10.0.0.2 > 10.0.0.1 tcp 81", "10.0.0.3 > 10.0.0.1 tcp 80"},
		},
		{
			"two rules: or",
			[]string{ingress + "ingress: [{from: [{podSelector: {}}]}, {ports: [{port: 80}]}]\n"},
			[]string{"10.0.0.2 > 10.0.0.1 tcp 81", "10.0.0.3 > 10.0.0.1 tcp 80"},
			[]string{"10.0.0.3 > 10.0.0.1 tcp 81"},
		},
		{
			"two policies add up",
			[]string{ingress, "podSelector: {}\ningress: [{ports: [{port: 80}]}]\n"},
			[]string{"9.9.9.9 > 10.0.0.1 tcp 80"},
			[]string{"9.9.9.9 > 10.0.0.1 tcp 81"},
		},
		{
			"both sides have to allow it",
			[]string{ingress + "ingress: [{from: [{podSelector: {}}]}]\n", egress},
			nil,
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80"},
		},
		{
			"egress to a range",
			[]string{egress + "egress: [{to: [{ipBlock: {cidr: 10.0.0.0/24}}], ports: [{port: 5978}]}]\n"},
			[]string{"10.0.0.2 > 10.0.0.9 tcp 5978"},
			[]string{"10.0.0.2 > 10.0.1.9 tcp 5978", "10.0.0.2 > 10.0.0.9 tcp 5979"},
		},
		{
			"a selector that is none selects nothing",
			[]string{ingress + "ingress: [{from: [{podSelector: {matchExpressions: [{key: a, operator: Near}]}}]}]\n"},
			nil,
			[]string{"10.0.0.2 > 10.0.0.1 tcp 80"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := Compile(objects(t, tc.policies...))
			for _, packet := range tc.pass {
				if !c.passes(t, packet) {
					t.Errorf("%s does not pass", packet)
				}
			}

			for _, packet := range tc.drop {
				if c.passes(t, packet) {
					t.Errorf("%s passes", packet)
				}
			}
		})
	}
}

// A policy is for the pods of its namespace only.
func TestOtherNamespace(t *testing.T) {
	o := objects(t, "podSelector: {}\n")
	o.Policies[0].Namespace = "other"
	c := Compile(o)
	if !c.passes(t, "10.0.0.2 > 10.0.0.1 tcp 80") || c.passes(t, "10.0.0.1 > 10.0.0.3 tcp 80") {
		t.Error("the policy is carried out elsewhere")
	}
}

// Addresses that are told count before a kubelet reports them, and more than what another pod, which has ended without
// its status saying so, still reports.
func TestKnownAddresses(t *testing.T) {
	o := objects(t, "podSelector: {}\n")
	for _, p := range o.Policies {
		p.Namespace = "other"
	}

	o.Known = Addresses{
		"other/starts": {netip.MustParseAddr("10.0.0.3")},
		"other/host":   {netip.MustParseAddr("10.0.0.9")},
	}

	c := Compile(o)
	if c.passes(t, "9.9.9.9 > 10.0.0.3 tcp 80") {
		t.Error("the pod that starts is open")
	}
	for _, pod := range c.Node("one") {
		if pod.Addr.Is4() && pod.Pod != "other/starts" {
			t.Errorf("%s has %s", pod.Pod, pod.Addr)
		}
	}
}

func TestRuleset(t *testing.T) {
	for _, tc := range []struct{ name, policies string }{
		{"none", ""},
		{"deny", ingress},
		{"selectors", ingress + "ingress: [{from: [{podSelector: {}}, {namespaceSelector: {matchLabels: {team: o}}}], ports: [{port: 80}, {port: 443}]}]\n"},
		{"blocks", ingress + "ingress: [{from: [{ipBlock: {cidr: 172.17.0.0/16, except: [172.17.1.0/24, 172.17.2.0/24]}}, {ipBlock: {cidr: '::/0', except: ['fd00::/8']}}, {ipBlock: {cidr: 0.0.0.0/0}}]}]\n"},
		{"ports", ingress + "ingress: [{ports: [{port: 90, endPort: 99}, {port: 80, endPort: 95}, {port: 100}, {port: 110}, {protocol: UDP}, {protocol: SCTP, port: 7}, {port: serve}]}]\n"},
		{"named", egress + "egress: [{to: [{namespaceSelector: {}}], ports: [{port: serve}]}]\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var policies []string
			if tc.policies != "" {
				policies = []string{tc.policies}
			}
			golden(t, tc.name, Compile(objects(t, policies...)).Ruleset("one").text())
			if left := Compile(objects(t, policies...)).Ruleset("two").text(); strings.Contains(left, "jump") {
				t.Errorf("a node without pods has\n%s", left)
			}
		})
	}
}

// Pods that come and go change elements, and no rule.
func TestRulesStay(t *testing.T) {
	o := objects(t, ingress+"ingress: [{from: [{namespaceSelector: {}}], ports: [{port: serve}]}]\n")
	before := Compile(o).Ruleset("one")
	o.Known = Addresses{"other/starts": {netip.MustParseAddr("10.0.0.8")}}
	after := Compile(o).Ruleset("one")
	if diff := cmp.Diff(before.Chains, after.Chains); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(before.Sets, after.Sets) {
		t.Error("the new pod is in no set")
	}
}

// text returns a ruleset for people.
func (r Ruleset) text() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Sets)) {
		fmt.Fprintf(&b, "set %s (%s): %s\n", name, r.Sets[name].Type,
			strings.Join(slices.Sorted(maps.Keys(r.Sets[name].Elements)), ", "))
	}

	for _, name := range slices.Sorted(maps.Keys(r.Verdicts)) {
		for _, a := range slices.SortedFunc(maps.Keys(r.Verdicts[name]), netip.Addr.Compare) {
			fmt.Fprintf(&b, "map %s: %s jump %s # %s\n", name, a, r.Verdicts[name][a].Chain, r.Verdicts[name][a].Pod)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(r.Chains)) {
		fmt.Fprintf(&b, "chain %s\n  %s\n", name, strings.Join(r.Chains[name], "\n  "))
	}

	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
