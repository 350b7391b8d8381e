package dataplane

import (
	"net/netip"
	"slices"
	"strings"
)

// family is a family of addresses, "ip" or "ip6" as in nftables. The table has the family inet, so it holds both: every
// set, map and chain that names addresses exists once for each family, and IPv6's names end in 6.
type family string

const (
	ipv4 family = "ip"
	ipv6 family = "ip6"
)

func families() []family { return []family{ipv4, ipv6} }

func familyOf(a netip.Addr) family {
	if a.Is4() {
		return ipv4
	}
	return ipv6
}

// name returns the family's name of the set, map or chain s.
func (f family) name(s string) string {
	if f == ipv6 {
		return s + "6"
	}
	return s
}

// familyOfSet splits a set's name into the name without its family and the family.
func familyOfSet(set string) (string, family) {
	if name, ok := strings.CutSuffix(set, "6"); ok {
		return name, ipv6
	}
	return set, ipv4
}

// addrLen returns how many bytes an address has.
func (f family) addrLen() int {
	if f == ipv6 {
		return 16
	}
	return 4
}

// has reports whether the address is of the family; an invalid address is of none.
func (f family) has(a netip.Addr) bool { return a.IsValid() && familyOf(a) == f }

// in writes a rule, or a type of a set, for the family: {ip} is the family, {6} what its names end with, {proto} its
// name as a protocol.
func (f family) in(s string) string {
	proto := map[family]string{ipv4: "ipv4", ipv6: "ipv6"}[f]
	return strings.NewReplacer("{ip}", string(f), "{6}", f.name(""), "{proto}", proto).Replace(s)
}

// forEach returns a rule once for each family if it names the family, else as it is.
func forEach(rule string) []string {
	rules := []string{ipv4.in(rule)}
	if six := ipv6.in(rule); six != rules[0] {
		rules = append(rules, six)
	}
	return rules
}

// lastAddr returns the last address of a network.
func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

// outermost returns the family's networks in list without those that lie within others: a set of ranges has no
// overlapping elements.
func (f family) outermost(list []netip.Prefix) []netip.Prefix {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b netip.Prefix) int { return a.Bits() - b.Bits() })
	var out []netip.Prefix
	for _, p := range sorted {
		if f.has(p.Addr()) && !slices.ContainsFunc(out, func(o netip.Prefix) bool { return o.Overlaps(p) }) {
			out = append(out, p)
		}
	}
	return out
}
