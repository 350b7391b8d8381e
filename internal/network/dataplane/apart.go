package dataplane

import (
	"net/netip"

	"mullion.dev/mullion/internal/network/netplan"
)

// A network that is apart has a namespace of its own on the host, with all that a host's own namespace has: its switch
// and VXLAN interface, routes, neighbours, connection tracking and table of nftables. So another network may have the
// same addresses. Its VXLAN interface sends and receives in the host's own namespace, and a pair of interfaces leads
// what its pods send elsewhere to the host, behind an address of the pair.

const (
	apartPrefix = "va" // the host's end of the pair
	aliasApart  = "hns apart "
	// apartPin begins the name of the pin of such a namespace. IDs of pods' namespaces are GUIDs.
	apartPin = "apart-"
	// wayOut is the pair's end in the namespace of the network.
	wayOut = "eth0"
)

// wayOutAddrs returns the addresses of the pair, the host's first: link-local ones (RFC 3927), which no subnet has.
func wayOutAddrs(number uint16) (near, far netip.Prefix) {
	addr := func(last uint16) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{
			169, 254, byte(128 + number/64), byte(number%64*4 + last),
		}), 30)
	}
	return addr(1), addr(2)
}

// wayOutNumber returns the number of the network that has an address on its way out.
func wayOutNumber(far netip.Prefix) (number uint16, ok bool) {
	if !far.Addr().Is4() {
		return 0, false
	}
	b := far.Addr().As4()
	number = (uint16(b[2])-128)*64 + uint16(b[3])/4
	_, want := wayOutAddrs(number)
	return number, number > 0 && want == far
}

// apartItem returns the elements of the host's own table for a network that is apart: what comes out of it is hidden
// behind the host, and no pod sends frames to its hosts.
func apartItem(b netplan.Bridge) item {
	it := item{}
	it.put("hidden", b.ID, pack(ifname(apartLink(b.ID))), "")
	if b.Overlay != nil {
		it.put("tunnel_ports", "", pack(netplan.UDP, b.Overlay.Port), "")
	}
	return it
}

// homes has the isolated networks, by the IDs of the objects that belong to them; homeless is that of all other
// objects.
type homes struct{ peers, ports, balancers map[string]string }

func newHomes() homes { return homes{map[string]string{}, map[string]string{}, map[string]string{}} }

// homeless is the key of the part of a change that is in the host's own namespace.
const homeless = ""

// split divides a change by isolated networks, and notes which objects belong to them from now on. apart says which
// networks were isolated before the change; gone has those that the change removes.
func (o homes) split(c netplan.Change, apart func(bridge string) bool,
) (parts map[string]*netplan.Change, gone []string) {
	parts = map[string]*netplan.Change{homeless: {}}
	part := func(home string) *netplan.Change {
		if parts[home] == nil {
			parts[home] = &netplan.Change{}
		}
		return parts[home]
	}

	own := part(homeless)
	own.Set.Namespaces, own.Removed.Namespaces = c.Set.Namespaces, c.Removed.Namespaces
	set := map[string]bool{}
	for _, b := range c.Set.Bridges {
		home := homeless
		if b.Apart != 0 {
			home, set[b.ID] = b.ID, true
		}
		part(home).Set.Bridges = append(part(home).Set.Bridges, b)
	}

	for _, id := range c.Removed.Bridges {
		if apart(id) {
			gone = append(gone, id)
		} else {
			own.Removed.Bridges = append(own.Removed.Bridges, id)
		}
	}

	where := func(bridge string) string {
		if set[bridge] || apart(bridge) {
			return bridge
		}
		return homeless
	}

	divide(o.peers, pair[netplan.Peer]{c.Set.Peers, c.Removed.Peers}, where,
		func(p netplan.Peer) (string, string) { return p.ID, p.Bridge },
		func(home string) (*[]netplan.Peer, *[]string) { x := part(home); return &x.Set.Peers, &x.Removed.Peers })
	divide(o.ports, pair[netplan.Port]{c.Set.Ports, c.Removed.Ports}, where,
		func(p netplan.Port) (string, string) { return p.ID, p.Bridge },
		func(home string) (*[]netplan.Port, *[]string) { x := part(home); return &x.Set.Ports, &x.Removed.Ports })
	divide(o.balancers, pair[netplan.LoadBalancer]{c.Set.LoadBalancers, c.Removed.LoadBalancers}, where,
		func(lb netplan.LoadBalancer) (string, string) { return lb.ID, lb.Bridge },
		func(home string) (*[]netplan.LoadBalancer, *[]string) {
			x := part(home)
			return &x.Set.LoadBalancers, &x.Removed.LoadBalancers
		})

	return parts, gone
}

// pair are the objects of one kind that a change sets, and the IDs of those that it removes.
type pair[T any] struct {
	set     []T
	removed []string
}

// divide adds each object of a kind, and each that is removed, to the lists of its home. An object whose home is
// another now is removed from the one before.
func divide[T any](homeOf map[string]string, c pair[T], where func(bridge string) string,
	names func(T) (id, bridge string), lists func(home string) (*[]T, *[]string),
) {
	for _, id := range c.removed {
		_, list := lists(homeOf[id])
		*list = append(*list, id)
		delete(homeOf, id)
	}

	for _, x := range c.set {
		id, bridge := names(x)
		home := where(bridge)
		if before, ok := homeOf[id]; ok && before != home {
			_, list := lists(before)
			*list = append(*list, id)
		}
		homeOf[id] = home
		list, _ := lists(home)
		*list = append(*list, x)
	}
}
