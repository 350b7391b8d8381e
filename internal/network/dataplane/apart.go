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

// homes has the isolated networks, by the kinds and the IDs of the objects that belong to them; homeless is that of all
// other objects.
type homes map[member]string

// member names an object that belongs to a network.
type member struct {
	kind netplan.Kind
	id   string
}

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

	isolated := map[string]bool{}
	for _, b := range c.Set.Bridges {
		isolated[b.ID] = b.Apart != 0
	}

	home := func(kind netplan.Kind, bridge string) string {
		if isolated[bridge] || (kind != netplan.Bridges && apart(bridge)) {
			return bridge
		}
		return homeless
	}

	c.Divide(netplan.Parts{
		Removed: func(kind netplan.Kind, id string) *netplan.Change {
			if kind == netplan.Bridges && apart(id) {
				gone = append(gone, id)
				return nil
			}
			was := o[member{kind, id}]
			delete(o, member{kind, id})
			return part(was)
		},
		Set: func(kind netplan.Kind, id, bridge string) (now, before *netplan.Change) {
			is := home(kind, bridge)
			if kind == netplan.Bridges || kind == netplan.Namespaces {
				return part(is), nil
			}
			if was, ok := o[member{kind, id}]; ok && was != is {
				before = part(was)
			}
			o[member{kind, id}] = is
			return part(is), before
		},
	})

	return parts, gone
}
