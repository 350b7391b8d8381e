package dataplane

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"

	"mullion.dev/mullion/internal/network/netplan"
)

// The table's rules never change with the plan; what changes are elements of its sets and maps. So the cost of a packet
// does not depend on the size of the plan, and the cost of a change depends on the change, not on the plan.

// slot is the place of an element: the name of a set or map, and the key as nf_tables has it in memory. end is the last
// key of a range.
type slot struct{ set, key, end string }

// entry is what lies in a slot: in a map its value (in a verdict map the name of the chain to go to), and as a comment
// the ID of the object of the plan.
type entry struct{ value, id string }

// item are the elements that one object of the plan asks for.
type item map[slot]entry

// put adds an element; key and value are made by pack.
func (it item) put(set, id, key, value string) {
	it[slot{set: set, key: key}] = entry{value: value, id: id}
}

// putRange adds an element for every address of a network, behind a fixed part of the key.
func (it item) putRange(set, id, fixed string, network netip.Prefix, value string) {
	it[slot{
		set: set,
		key: fixed + pack(network.Masked().Addr()),
		end: fixed + pack(lastAddr(network)),
	}] = entry{value: value, id: id}
}

// index is a number that the kernel makes, in the machine's own byte order.
type index uint32

// ifname is the name of an interface.
type ifname string

// pack returns a concatenation as nf_tables has it: each part filled up to 4 bytes.
func pack(parts ...any) string {
	var b []byte
	for _, part := range parts {
		switch x := part.(type) {
		case netip.Addr:
			b = append(b, x.AsSlice()...)
		case net.HardwareAddr:
			b = append(append(b, x...), 0, 0)
		case netplan.Protocol:
			b = append(b, byte(x), 0, 0, 0)
		case uint16: // a port
			b = append(b, byte(x>>8), byte(x), 0, 0)
		case index:
			b = binary.NativeEndian.AppendUint32(b, uint32(x))
		case ifname:
			b = append(b, x...)
			b = append(b, make([]byte, 16-len(x))...)
		}
	}

	return string(b)
}

// ruleset holds the elements that all objects of the plan ask for. If two objects ask for the same slot, the one whose
// name sorts first gets it, so that the order of calls does not matter.
type ruleset struct {
	items   map[string]item       // by a name of the object
	claims  map[slot][]string     // names, in order
	entries map[slot]entry        // what has to be in the kernel
	access  map[string]accessTier // chains of access rules by their names
}

func newRuleset() *ruleset {
	return &ruleset{
		items:   map[string]item{},
		claims:  map[slot][]string{},
		entries: map[slot]entry{},
		access:  map[string]accessTier{},
	}
}

// delta is the difference between two states of the elements.
type delta struct {
	del []slot
	add map[slot]entry
}

// set replaces the elements of the object of that name, nil for none, and adds what changes to d.
func (r *ruleset) set(name string, next item, d *delta) {
	was := r.items[name]
	for s := range was {
		if _, kept := next[s]; !kept {
			r.claims[s] = slices.DeleteFunc(r.claims[s], func(n string) bool { return n == name })
		}
	}

	for s := range next {
		if _, had := was[s]; had {
			continue
		}
		at, _ := slices.BinarySearch(r.claims[s], name)
		r.claims[s] = slices.Insert(r.claims[s], at, name)
	}

	if r.items[name] = next; next == nil {
		delete(r.items, name)
	}
	for s := range was {
		r.settle(s, d)
	}

	for s := range next {
		r.settle(s, d)
	}
}

// settle gives a slot to the first of its claims, and adds the change to d.
func (r *ruleset) settle(s slot, d *delta) {
	have, there := r.entries[s]
	claims := r.claims[s]
	if len(claims) == 0 {
		delete(r.claims, s)
		if there {
			delete(r.entries, s)
			d.del = append(d.del, s)
		}
		return
	}

	want := r.items[claims[0]][s]
	if there && have == want {
		return
	}
	if there {
		d.del = append(d.del, s)
	}
	r.entries[s] = want
	d.add[s] = want
}

// between returns the changes that lead from have, the elements in the kernel, to want.
func between(have, want map[slot]entry) *delta {
	d := &delta{add: map[slot]entry{}}
	for s, e := range have {
		if w, ok := want[s]; !ok || w != e {
			d.del = append(d.del, s)
		}
	}

	for s, e := range want {
		if h, ok := have[s]; !ok || h != e {
			d.add[s] = e
		}
	}

	return d
}

func (d *delta) empty() bool { return len(d.del)+len(d.add) == 0 }

// chains returns the chains to which the added elements go.
func (d *delta) chains() map[string]bool {
	names := map[string]bool{}
	for s, e := range d.add {
		if verdictMaps()[s.set] {
			names[e.value] = true
		}
	}
	return names
}

// describe returns the differences as text, a line for each set.
func (d *delta) describe() []string {
	missing, left := map[string]int{}, map[string]int{}
	for s := range d.add {
		missing[s.set]++
	}

	for _, s := range d.del {
		if _, changed := d.add[s]; !changed {
			left[s.set]++
		}
	}

	var lines []string
	for set, n := range missing {
		lines = append(lines, fmt.Sprintf("missing: %d elements of nftables set %s", n, set))
	}

	for set, n := range left {
		lines = append(lines, fmt.Sprintf("left over: %d elements of nftables set %s", n, set))
	}

	slices.Sort(lines)
	return lines
}

// portItem returns the elements of a pod's interface. beside are the pod's interfaces before this one: what has the
// address of one may leave by another.
func (r *ruleset) portItem(p netplan.Port, mode netplan.Mode, beside []netplan.Port) item {
	it := item{}
	it.putOwn(p, p)
	for _, other := range beside {
		it.putOwn(p, other)
		it.putOwn(other, p)
	}

	for _, f := range families() {
		in, out := r.accessChain(f, p.ACL, true), r.accessChain(f, p.ACL, false)
		for _, prefix := range p.Addrs {
			a := prefix.Addr()
			if !f.has(a) {
				continue
			}
			it.put(f.name("self"), p.ID, pack(a, a), "")
			if in != "" {
				it.put(f.name("acl_in"), p.ID, pack(a), in)
				it.put(f.name("acl_kept"), p.ID, pack(keptMark(a)), in)
			}

			if out != "" {
				it.put(f.name("acl_out"), p.ID, pack(a), out)
			}
			if mode == netplan.L2Tunnel {
				it.put(f.name("tunnel_pods"), p.ID, pack(a), "")
			}
			for _, n := range p.NAT {
				it.putNAT(p.ID, a, n)
			}
		}
	}

	return it
}

// putOwn adds a port's addresses as ones that packets have which leave by a port of the same pod.
func (it item) putOwn(p, by netplan.Port) {
	mac, err := net.ParseMAC(by.MAC)
	if err != nil {
		return
	}
	for _, prefix := range p.Addrs {
		it.put(familyOf(prefix.Addr()).name("own"), p.ID, pack(prefix.Addr(), mac), "")
	}
}

// putNAT adds the translation of an address. If n names only networks of the other family, or an address of the other
// family to hide behind, it is not for this address.
func (it item) putNAT(id string, a netip.Addr, n netplan.NAT) {
	f := familyOf(a)
	only := f.outermost(n.Only)
	if (n.To.IsValid() && !f.has(n.To)) || (len(n.Only) > 0 && len(only) == 0) {
		return
	}
	if !n.ICMP {
		it.put(f.name("nat_tcp_udp"), id, pack(a), "")
	}

	for _, only := range only {
		it.putRange(f.name("nat_only"), id, pack(a), only, "")
		if n.To.IsValid() {
			it.putRange(f.name("nat_only_to"), id, pack(a), only, pack(n.To))
		}
	}

	if len(n.Only) > 0 {
		return
	}

	it.put(f.name("nat_src"), id, pack(a), "")
	if n.To.IsValid() {
		it.put(f.name("nat_to"), id, pack(a), pack(n.To))
	}
	for _, except := range f.outermost(n.Except) {
		it.putRange(f.name("nat_except"), id, pack(a), except, "")
	}
}

// bridgeItem returns the elements of a network's switch.
func bridgeItem(b netplan.Bridge, uplink string) item {
	it := item{}
	it.put("uplinks", "", pack(ifname(uplink)), "")
	if b.HostVIPs {
		it.put("balancing", "", pack(ifname(uplink)), "")
	}
	if b.ID != "" && b.Mode != netplan.Transparent {
		it.put("switched", b.ID, pack(ifname(bridgeLink(b.ID))), "")
	}

	if b.Overlay != nil {
		it.put("tunnel_ports", "", pack(netplan.UDP, b.Overlay.Port), "")
	}
	if b.Mode == netplan.WinNAT {
		link := bridgeLink(b.ID)
		it.put("hidden", b.ID, pack(ifname(link)), "")
		it.put("within", b.ID, pack(ifname(link), ifname(link)), "")
	}

	return it
}

// accessChain returns the chain that holds the access rules of one family and direction, "" if there are none.
func (r *ruleset) accessChain(f family, list []netplan.ACL, in bool) string {
	chains, first := accessTiers(f, list, in)
	maps.Copy(r.access, chains)
	return first
}

// chainRules returns the rules of a chain that entries go to.
func (r *ruleset) chainRules(name string) []string {
	if tier, ok := r.access[name]; ok {
		return tier.rules
	}
	return pickerOf(name).rules()
}

// withNext adds to chains the next tiers to which they go.
func (r *ruleset) withNext(chains map[string]bool) {
	for name := range maps.Clone(chains) {
		for next := r.access[name].next; next != ""; next = r.access[next].next {
			chains[next] = true
		}
	}
}

// usedAccess returns the chains of access rules that entries go to.
func (r *ruleset) usedAccess() map[string]bool {
	used := map[string]bool{}
	for s, e := range r.entries {
		if accessMaps()[s.set] {
			used[e.value] = true
		}
	}
	r.withNext(used)
	return used
}

// forget drops all chains of access rules except those in but.
func (r *ruleset) forget(but map[string]bool) {
	maps.DeleteFunc(r.access, func(name string, _ accessTier) bool { return !but[name] })
}
