package dataplane

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/network/netplan"
)

// balancerItem are the elements of a load balancer; none without backends. Backends are of the family of what leads to
// them.
func balancerItem(lb netplan.LoadBalancer) item {
	it := item{}
	for _, f := range families() {
		backends := slices.DeleteFunc(slices.Clone(lb.Backends),
			func(b netip.AddrPort) bool { return !f.has(b.Addr()) })
		if len(backends) > 0 {
			it.putBalancer(f, lb, backends)
		}
	}
	return it
}

func (it item) putBalancer(f family, lb netplan.LoadBalancer, backends []netip.AddrPort) {
	source := ""
	if f.has(lb.SourceVIP) && !keeps(lb) {
		source = pack(sourceMark(lb.SourceVIP))
		it.put(f.name("source"), "", source, pack(lb.SourceVIP))
	}
	if keeps(lb) {
		it.putKept(f, lb, backends)
		return
	}
	if len(lb.VIPs) == 0 {
		chain := chainName(f.name("node"), lb.ByClient, len(backends))
		key := pack(lb.Protocol, lb.Port)
		it.put(f.name("node"), lb.ID, key, chain)
		it.putBackends(f.name("node_to"), key, backends)
		if source != "" {
			it.put(f.name("node_source"), "", key, source)
		}
		if lb.FromHost {
			it.put(f.name("from_host"), lb.ID, key, chain)
		}
		return
	}
	for _, vip := range lb.VIPs {
		if !f.has(vip) {
			continue
		}
		chain := chainName(f.name("vip"), lb.ByClient, len(backends))
		key := pack(vip, lb.Protocol, lb.Port)
		it.put(f.name("vip"), lb.ID, key, chain)
		it.put(f.name("tunnel_vips"), "", key, "")
		it.putBackends(f.name("vip_to"), key, backends)
		if lb.External {
			it.put(f.name("external"), lb.ID, key, chain)
		}
		if source != "" {
			it.put(f.name("vip_source"), "", key, source)
		}
	}
}

// keeps says that packets keep the virtual address as their destination. Without one there is nothing to keep.
func keeps(lb netplan.LoadBalancer) bool { return lb.PreserveDIP && len(lb.VIPs) > 0 }

// putKept adds a load balancer that translates nothing: what it picks is the mark of a pod, which keep_linux.go leads
// to it.
func (it item) putKept(f family, lb netplan.LoadBalancer, backends []netip.AddrPort) {
	for _, vip := range lb.VIPs {
		if !f.has(vip) {
			continue
		}
		chain := chainName(f.name("kept"), lb.ByClient, len(backends))
		key := pack(vip, lb.Protocol, lb.Port)
		it.put(f.name("kept"), lb.ID, key, chain)
		if lb.External {
			it.put(f.name("kept_external"), lb.ID, key, chain)
		}
		it.put(f.name("kept_vips"), "", pack(vip), "")
		for i, b := range backends {
			it.put(f.name("kept_to"), b.String(), key+pack(index(i)), pack(keptMark(b.Addr())))
		}
	}
}

// keptMark is the mark of packets to a pod that keeps their destination; load balancers' own marks are small numbers.
func keptMark(a netip.Addr) index { return 0x4d000000 | index(hash(a.String())&0xffffff) }

// sourceMark is the connection's mark that stands for a source VIP: of IPv4 the address itself, of IPv6 a hash of it.
func sourceMark(a netip.Addr) index {
	if a.Is4() {
		b := a.As4()
		return index(binary.BigEndian.Uint32(b[:]))
	}
	return index(hash(a.String()))
}

func (it item) putBackends(set, key string, backends []netip.AddrPort) {
	for i, b := range backends {
		it.put(set, "", key+pack(index(i)), pack(b.Addr(), b.Port()))
	}
}

// chainName is the chain that picks one of n backends, by chance or by the client's address.
func chainName(kind string, byClient bool, n int) string {
	if byClient {
		return fmt.Sprintf("%s_client_%d", kind, n)
	}
	return fmt.Sprintf("%s_%d", kind, n)
}

// balance are the rules of such a chain: they look up the backend by what is balanced and a number below n. HNS knows
// no time that a client stays with a backend, only that it does (DistributionType), so a hash of the client's address
// says all there is, and nothing has to be kept for each client.
func balance(name string) []string {
	kind, rest, _ := strings.Cut(name, "_")
	rest, byClient := strings.CutPrefix(rest, "client_")
	kind, f := familyOfSet(kind)
	pick := "numgen random"
	if byClient {
		pick = f.in("jhash {ip} saddr")
	}
	key := "meta l4proto . th dport"
	if kind != "node" {
		key = f.in("{ip} daddr . ") + key
	}
	if kind == "kept" { // every packet of a connection has the mark of its pod, the connection too
		return []string{
			fmt.Sprintf("ct mark 0 meta mark set %s mod %s", pick, rest),
			fmt.Sprintf("ct mark 0 meta l4proto { tcp, udp } ct mark set %s . meta mark map @%s", key,
				f.name("kept_to")),
			"meta mark set ct mark",
		}
	}
	return []string{
		fmt.Sprintf("meta mark set %s mod %s", pick, rest),
		fmt.Sprintf("meta l4proto { tcp, udp } dnat %s to %s . meta mark map @%s", f, key, f.name(kind+"_to")),
	}
}
