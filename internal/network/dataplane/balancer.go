package dataplane

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/network/netplan"
)

// balancerItem returns the elements of a load balancer; none without backends. A virtual address or node port has only
// the backends of its own family.
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
		chain := picker{f.name("node"), lb.ByClient, len(backends)}.chain()
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

		chain := picker{f.name("vip"), lb.ByClient, len(backends)}.chain()
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

// keeps reports whether packets keep the virtual address as their destination; never without a virtual address.
func keeps(lb netplan.LoadBalancer) bool { return lb.PreserveDIP && len(lb.VIPs) > 0 }

// putKept adds a load balancer that translates nothing: it picks the mark of a pod, and by that mark keep_linux.go
// routes the packet to the pod.
func (it item) putKept(f family, lb netplan.LoadBalancer, backends []netip.AddrPort) {
	for _, vip := range lb.VIPs {
		if !f.has(vip) {
			continue
		}
		chain := picker{f.name("kept"), lb.ByClient, len(backends)}.chain()
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

// keptMark returns the mark of packets to a pod that keeps their destination; load balancers' own marks are small
// numbers.
func keptMark(a netip.Addr) index { return keptMarks | index(hash(a.String())&0xffffff) }

// keptMarks is the first of the 2^24 marks of pods that keep virtual addresses.
const keptMarks = 0x4d000000

// sourceMark returns the connection mark for a source VIP: an IPv4 address itself, a hash of an IPv6 address.
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

// picker picks one of a number of backends, at random or by the client's address. It is a chain, whose name is all that
// the kernel keeps of it.
type picker struct {
	set      string // the map whose elements lead to it: that of vip, node or kept of a family
	byClient bool
	backends int
}

// chain returns the name of the picker's chain.
func (p picker) chain() string {
	if p.byClient {
		return fmt.Sprintf("%s_client_%d", p.set, p.backends)
	}
	return fmt.Sprintf("%s_%d", p.set, p.backends)
}

// pickerOf returns the picker whose chain has that name.
func pickerOf(chain string) (p picker) {
	var backends string
	p.set, backends, _ = strings.Cut(chain, "_")
	backends, p.byClient = strings.CutPrefix(backends, "client_")
	p.backends, _ = strconv.Atoi(backends) // it is a number, in a chain of ours
	return p
}

// rules returns the rules of a picker's chain: they look up the backend by the key of the load balancer and a number
// below n. In HNS client affinity is on or off (DistributionType) and has no timeout, so a hash of the client's address
// suffices and no state is kept for each client.
//
// While the kernel goes from one state of the table to the next, a packet may see the chain of the former and the
// backends of the latter. If there is none of its number then, it is dropped, and the client sends it anew.
// Untranslated it would decide where its whole connection goes.
func (p picker) rules() []string {
	kind, f := familyOfSet(p.set)
	pick := "numgen random"
	if p.byClient {
		pick = f.in("jhash {ip} saddr")
	}

	key := "meta l4proto . th dport"
	if kind != "node" {
		key = f.in("{ip} daddr . ") + key
	}

	if kind == "kept" { // the connection and each of its packets get the mark of the pod
		return []string{
			fmt.Sprintf("ct mark 0 meta mark set %s mod %d", pick, p.backends),
			fmt.Sprintf("ct mark 0 meta l4proto { tcp, udp } ct mark set %s . meta mark map @%s", key,
				f.name("kept_to")),
			"meta mark set ct mark",
		}
	}

	return []string{
		fmt.Sprintf("meta mark set %s mod %d", pick, p.backends),
		fmt.Sprintf("meta l4proto { tcp, udp } dnat %s to %s . meta mark map @%s", f, key, f.name(kind+"_to")),
		"drop",
	}
}
