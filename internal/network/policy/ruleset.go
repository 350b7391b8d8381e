package policy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Table is the name of the table, of family inet, in the network namespace of each node.
const Table = "mullion_policy"

// The table's fixed maps and sets; those of IPv6 have a 6 after the name.
const (
	// In leads from a pod's address to the chain of what may come to it.
	In = "in"
	// Out leads from a pod's address to the chain of what it may open.
	Out = "out"
	// Self has each of these pods' addresses twice: a Service may lead a pod to itself.
	Self = "self"
)

// Names of what changes with the policies begin so.
const (
	peersPrefix  = "peers"
	namedPrefix  = "named"
	accessPrefix = "access_"
)

// Ruleset is what changes in a node's table.
type Ruleset struct {
	// Verdicts are the elements of the maps In and Out, by the map's name.
	Verdicts map[string]map[netip.Addr]Verdict
	// Sets are the types and elements of all sets, by name.
	Sets map[string]Set
	// Chains are the rules of chains, by name. A chain is named by its rules, so that it never changes.
	Chains map[string][]string
}

// Verdict leads to a chain. Pod, a UID, is noted beside it, for whoever reads the table later.
type Verdict struct{ Chain, Pod string }

// Set is a set of nftables. Each element is its key, whose parts are separated by " . ".
type Set struct {
	Type     string
	Elements map[string]bool
}

// Families returns the suffixes of sets' names and the names in rules of both address families.
func Families() []Family { return []Family{{"", "ip"}, {"6", "ip6"}} }

// Family is an address family.
type Family struct{ Suffix, Name string }

// Of returns the family of an address.
func Of(a netip.Addr) Family {
	if a.Is4() {
		return Families()[0]
	}
	return Families()[1]
}

// Type returns the type of its addresses in sets.
func (f Family) Type() string {
	if f.Name == "ip" {
		return "ipv4_addr"
	}
	return "ipv6_addr"
}

// Frame are pairs of chain and rule that never change. The chain forward sees what the node forwards, with the pods'
// own addresses: after the translation of destinations, and before that of sources. A packet that a load balancer leads
// to a pod by a mark, without translation, has the pod as its next hop (see PreserveDIP in package netplan). Packets
// that the data plane does not track were judged before, on their way out to the router of an L2Tunnel network.
func Frame() [][2]string {
	rules := [][2]string{{"forward", "ct state established,related,untracked accept"}}
	for _, rule := range []string{
		"{ip} saddr . {ip} daddr @self{6} accept",
		"{ip} saddr vmap @out{6}",
		"{ip} daddr vmap @in{6}",
		"meta mark != 0 rt {ip} nexthop vmap @in{6}",
	} {
		for _, f := range Families() {
			rules = append(rules, [2]string{"forward", strings.NewReplacer("{ip}", f.Name, "{6}", f.Suffix).Replace(rule)})
		}
	}

	return rules
}

// Ruleset returns what a node's table has.
func (c *Cluster) Ruleset(node string) Ruleset {
	r := Ruleset{
		Verdicts: map[string]map[netip.Addr]Verdict{},
		Sets:     map[string]Set{},
		Chains:   map[string][]string{},
	}

	for _, f := range Families() {
		r.Sets[Self+f.Suffix] = Set{f.Type() + " . " + f.Type(), map[string]bool{}}
		r.Verdicts[In+f.Suffix], r.Verdicts[Out+f.Suffix] = map[netip.Addr]Verdict{}, map[netip.Addr]Verdict{}
	}

	for _, pod := range c.Node(node) {
		f := Of(pod.Addr)
		r.Sets[Self+f.Suffix].Elements[fmt.Sprintf("%s . %s", pod.Addr, pod.Addr)] = true
		if pod.In != nil {
			r.Verdicts[In+f.Suffix][pod.Addr] = Verdict{c.chain(&r, pod.In, "saddr"), string(pod.Pod)}
		}
		if pod.Out != nil {
			r.Verdicts[Out+f.Suffix][pod.Addr] = Verdict{c.chain(&r, pod.Out, "daddr"), string(pod.Pod)}
		}
	}

	return r
}

// chain returns the name of the chain for an access; side is where a packet names the other side.
func (c *Cluster) chain(r *Ruleset, access *Access, side string) string {
	var rules []string
	for _, rule := range access.Rules {
		for _, peer := range c.peerMatches(r, rule, side) {
			for _, port := range c.portMatches(r, rule) {
				if peer.family != "" && port.family != "" && peer.family != port.family {
					continue
				}
				line := strings.Join(strings.Fields(peer.text+" "+port.text+" return"), " ")
				if !slices.Contains(rules, line) {
					rules = append(rules, line)
				}
			}
		}
	}

	rules = append(rules, "drop")
	name := accessPrefix + hash(strings.Join(rules, "\n"))
	r.Chains[name] = rules
	return name
}

// match is a part of a rule; family is empty if it is for both.
type match struct{ family, text string }

func (c *Cluster) peerMatches(r *Ruleset, rule Rule, side string) []match {
	if rule.Anyone {
		return []match{{}}
	}

	var all []match
	if rule.Group != "" {
		for _, f := range Families() {
			name := peersPrefix + f.Suffix + "_" + rule.Group
			set := Set{f.Type(), map[string]bool{}}
			for _, a := range c.peers[rule.Group] {
				if Of(a) == f {
					set.Elements[a.String()] = true
				}
			}

			r.Sets[name] = set
			all = append(all, match{f.Name, fmt.Sprintf("%s %s @%s", f.Name, side, name)})
		}
	}

	for _, b := range rule.Blocks {
		f := Of(b.CIDR.Addr())
		text := "meta nfproto ipv" + map[string]string{"ip": "4", "ip6": "6"}[f.Name]
		if b.CIDR.Bits() > 0 {
			text = fmt.Sprintf("%s %s %s", f.Name, side, b.CIDR)
		}
		for _, except := range b.Except {
			text += fmt.Sprintf(" %s %s != %s", f.Name, side, except)
		}

		all = append(all, match{f.Name, text})
	}

	return all
}

func (c *Cluster) portMatches(r *Ruleset, rule Rule) []match {
	if rule.AnyPort {
		return []match{{}}
	}
	var all []match
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		if text := ranges(rule.Ports, protocol); text != "" {
			all = append(all, match{text: text})
		}
	}

	for _, p := range rule.Ports {
		if p.Named == "" {
			continue
		}

		for _, f := range Families() {
			name := namedPrefix + f.Suffix + "_" + p.Named
			set := Set{f.Type() + " . inet_proto . inet_service", map[string]bool{}}
			for _, e := range c.named[p.Named] {
				if Of(e.Addr) == f {
					set.Elements[fmt.Sprintf("%s . %d . %d", e.Addr, protocolNumber(e.Protocol), e.Port)] = true
				}
			}

			r.Sets[name] = set
			all = append(all, match{f.Name, fmt.Sprintf("%s daddr . meta l4proto . th dport @%s", f.Name, name)})
		}
	}

	return all
}

// protocolNumber returns the protocol's number: not every machine has the file by which nft knows the names.
func protocolNumber(p corev1.Protocol) int {
	return map[corev1.Protocol]int{corev1.ProtocolTCP: 6, corev1.ProtocolUDP: 17, corev1.ProtocolSCTP: 132}[p]
}

// ranges matches a protocol's numbered ports, "" if there are none. Ranges that touch become one, since a set of
// nftables holds none that overlap.
func ranges(ports []Ports, protocol corev1.Protocol) string {
	var list []Ports
	for _, p := range ports {
		if p.Protocol == protocol && p.Named == "" {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return ""
	}

	slices.SortFunc(list, func(a, b Ports) int { return cmp.Compare(a.First, b.First) })
	merged := list[:1]
	for _, p := range list[1:] {
		if last := &merged[len(merged)-1]; int(p.First) <= int(last.Last)+1 {
			last.Last = max(last.Last, p.Last)
		} else {
			merged = append(merged, p)
		}
	}

	if merged[0].First <= 1 && merged[0].Last == lastPort {
		return "meta l4proto " + strconv.Itoa(protocolNumber(protocol))
	}

	var texts []string
	for _, p := range merged {
		text := strconv.Itoa(int(p.First))
		if p.Last != p.First {
			text += "-" + strconv.Itoa(int(p.Last))
		}
		texts = append(texts, text)
	}

	return fmt.Sprintf("%s dport { %s }", strings.ToLower(string(protocol)), strings.Join(texts, ", "))
}
