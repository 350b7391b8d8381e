package dataplane

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/netplan"
)

// accessChain is the chain for the access rules of one direction, "" if there are none. Its name comes from the rules, so
// that ports of the same rules share a chain, and no chain ever changes.
func (r *ruleset) accessChain(list []netplan.ACL, in bool) string {
	rules := accessRules(list, in)
	if len(rules) == 0 {
		return ""
	}
	name := fmt.Sprintf("acl_%016x", hash(strings.Join(rules, "\n")))
	r.access[name] = rules
	return name
}

// accessRules are the rules of one direction, in the order that they decide. What passes returns: the other pod's rules
// may still have to see it.
func accessRules(list []netplan.ACL, in bool) []string {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b netplan.ACL) int {
		if a.Priority == b.Priority && a.Block != b.Block {
			if a.Block {
				return -1
			}
			return 1
		}
		return int(a.Priority) - int(b.Priority)
	})
	var rules []string
	for _, a := range sorted {
		if a.In != in {
			continue
		}
		if rule, ok := accessRule(a); ok {
			rules = append(rules, rule)
		}
	}
	return rules
}

// accessRule is one rule; not ok if it never matches a packet of IPv4.
func accessRule(a netplan.ACL) (string, bool) {
	var parts []string
	ports := len(a.LocalPorts)+len(a.RemotePorts) > 0
	switch {
	case a.Protocol != 0:
		parts = append(parts, fmt.Sprintf("meta l4proto %d", a.Protocol))
	case ports:
		parts = append(parts, "meta l4proto { tcp, udp }")
	}
	local, remote := "s", "d" // source and destination, as the pod sends
	if a.In {
		local, remote = remote, local
	}
	for _, side := range []struct {
		which string
		addrs []netip.Prefix
		ports []netplan.PortRange
	}{{local, a.Local, a.LocalPorts}, {remote, a.Remote, a.RemotePorts}} {
		if len(side.addrs) > 0 {
			match, ok := matchAddrs(side.addrs)
			if !ok {
				return "", false
			}
			parts = append(parts, fmt.Sprintf("ip %saddr %s", side.which, match))
		}
		if len(side.ports) > 0 {
			parts = append(parts, fmt.Sprintf("th %sport %s", side.which, matchPorts(side.ports)))
		}
	}
	verdict := "return"
	if a.Block {
		verdict = "drop"
	}
	return strings.Join(append(parts, verdict), " "), true
}

func matchAddrs(list []netip.Prefix) (string, bool) {
	var all []string
	for _, p := range outermost(list) {
		all = append(all, p.Masked().String())
	}
	return "{ " + strings.Join(all, ", ") + " }", len(all) > 0
}

// matchPorts joins ranges that touch: a set has no overlapping elements.
func matchPorts(list []netplan.PortRange) string {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b netplan.PortRange) int { return int(a.First) - int(b.First) })
	var merged []netplan.PortRange
	for _, r := range sorted {
		if n := len(merged); n > 0 && int(r.First) <= int(merged[n-1].Last)+1 {
			merged[n-1].Last = max(merged[n-1].Last, r.Last)
			continue
		}
		merged = append(merged, r)
	}
	var all []string
	for _, r := range merged {
		if r.First == r.Last {
			all = append(all, fmt.Sprint(r.First))
		} else {
			all = append(all, fmt.Sprintf("%d-%d", r.First, r.Last))
		}
	}
	return "{ " + strings.Join(all, ", ") + " }"
}
