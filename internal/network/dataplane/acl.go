package dataplane

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/network/netplan"
)

// accessPrefix begins the names of chains of access rules, and of the maps that lead to them.
const accessPrefix = "acl_"

// accessTier are the rules of one tier, a chain of its own. An allow rule returns, because the other pod's rules may
// still have to see the packet. A packet that no rule matches goes on to the next tier.
type accessTier struct {
	rules []string
	next  string // the chain of the next tier, "" if there is none
}

// accessTiers returns the chains for the access rules of one family and direction, by name, and the name of the first
// chain, "" if there are no rules. A packet that the switch's rules let pass goes on to the host's. A chain's name is a
// hash of its rules, so that ports with the same rules share a chain, and no chain ever changes.
func accessTiers(f family, list []netplan.ACL, in bool) (chains map[string]accessTier, first string) {
	chains = map[string]accessTier{}
	for _, host := range []bool{true, false} {
		tiers := map[uint16][]netplan.ACL{}
		for _, a := range list {
			if a.In == in && a.Host == host {
				tiers[a.Tier] = append(tiers[a.Tier], a)
			}
		}

		allow := "return"
		if first != "" {
			allow = "goto " + first
		}

		for _, n := range slices.Backward(slices.Sorted(maps.Keys(tiers))) {
			tier := accessTier{rules: accessRules(f, tiers[n], allow, first), next: first}
			if len(tier.rules) == 0 {
				continue // none of this family
			}
			if first != "" {
				tier.rules = append(tier.rules, "goto "+first)
			}
			first = fmt.Sprintf("%s%016x", accessPrefix, hash(strings.Join(tier.rules, "\n")))
			chains[first] = tier
		}
	}

	return chains, first
}

// accessRules returns the rules of one tier and direction, in the order that they decide. allow is what becomes of a
// packet that they let pass; next is the next tier's chain, "" if there is none.
func accessRules(f family, list []netplan.ACL, allow, next string) []string {
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
		match, ok := accessMatch(f, a)
		verdict := allow
		switch {
		case a.Block:
			verdict = "drop"
		case a.Pass && next != "":
			verdict = "goto " + next
		}

		if ok {
			rules = append(rules, strings.TrimSpace(match+" "+verdict))
		}
	}

	return rules
}

// accessMatch returns the match part of a rule. ok is false if no packet of the family can match.
func accessMatch(f family, a netplan.ACL) (string, bool) {
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
			match, ok := f.matchAddrs(side.addrs)
			if !ok {
				return "", false
			}
			parts = append(parts, fmt.Sprintf("%s %saddr %s", f, side.which, match))
		}

		if len(side.ports) > 0 {
			parts = append(parts, fmt.Sprintf("th %sport %s", side.which, matchPorts(side.ports)))
		}
	}

	return strings.Join(parts, " "), true
}

func (f family) matchAddrs(list []netip.Prefix) (string, bool) {
	var all []string
	for _, p := range f.outermost(list) {
		all = append(all, p.Masked().String())
	}
	return "{ " + strings.Join(all, ", ") + " }", len(all) > 0
}

// matchPorts joins ranges that touch: a set has no overlapping elements.
func matchPorts(list []netplan.PortRange) string {
	sorted := slices.SortedFunc(slices.Values(list),
		func(a, b netplan.PortRange) int { return int(a.First) - int(b.First) })
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
