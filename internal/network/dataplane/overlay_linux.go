package dataplane

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/network/netplan"
)

// An overlay is a bridge for the host's own pods, and a VXLAN interface that the host routes the peers' subnets to, as
// flannel does on Linux: for each peer a route, the hardware address of its router as a fixed neighbour, and the peer's
// VTEP as a fixed forwarding entry
// (https://github.com/flannel-io/flannel/blob/v0.26.0/pkg/backend/vxlan/vxlan_network.go).

const (
	vxlanPrefix = "vx"
	aliasVXLAN  = "hns vxlan "
	// encapOverhead is what VXLAN adds to a packet: Ethernet 14, IP 20, UDP 8, VXLAN 8 (RFC 7348).
	encapOverhead = 50
)

func vxlanLink(id string) string { return fmt.Sprintf("%s%08x", vxlanPrefix, uint32(hash(id))) }

// ensureVXLAN makes the overlay's VXLAN interface. An interface with other settings is replaced.
func (p *space) ensureVXLAN(h *netlink.Handle, b netplan.Bridge) error {
	want, err := p.vxlan(h, b)
	if err != nil {
		return err
	}

	alias := fmt.Sprintf("%s%s %016x", aliasVXLAN, b.ID, hash(fmt.Sprint(*b.Overlay, want.VtepDevIndex, want.MTU)))
	link, err := lookup(h, want.Name)
	if err != nil {
		return err
	}
	if link != nil && link.Attrs().Alias == alias && link.Type() == "vxlan" {
		return setUp(h, link)
	}

	if link != nil {
		if err := h.LinkDel(link); err != nil {
			return err
		}
	}
	if err := p.addVXLAN(h, want); err != nil {
		return fmt.Errorf("make VXLAN interface with VNI %d on UDP port %d: %w", want.VxlanId, want.Port, err)
	}

	if link, err = h.LinkByName(want.Name); err != nil {
		return err
	}
	if err := p.inHost(func() error { return switchSysctls(want.Name) }); err != nil {
		return err
	}
	if err := h.LinkSetUp(link); err != nil {
		return err
	}

	return h.LinkSetAlias(link, alias)
}

func (p *space) vxlan(h *netlink.Handle, b netplan.Bridge) (*netlink.Vxlan, error) {
	if b.Overlay == nil {
		return nil, errors.New("an overlay without VXLAN settings")
	}
	mac, err := net.ParseMAC(b.Overlay.MAC)
	if err != nil {
		return nil, fmt.Errorf("hardware address of the overlay's router: %w", err)
	}

	x := &netlink.Vxlan{
		LinkAttrs: netlink.LinkAttrs{
			Name:         vxlanLink(b.ID),
			HardwareAddr: mac,
			MTU:          p.mtu(h, b),
		},
		VxlanId: int(b.Overlay.VNI),
		Port:    int(b.Overlay.Port),
		UDPCSum: true,
	}

	if b.Overlay.VTEP.IsValid() {
		x.SrcAddr = b.Overlay.VTEP.AsSlice()
	}
	x.VtepDevIndex, err = p.tunnelUplink(b)
	return x, err
}

// ways are how an overlay's peers are reached.
type ways struct {
	routes     map[netip.Prefix]netip.Addr // subnet to the neighbour that routes it
	neighbours map[netip.Addr]string       // neighbour to hardware address
	forwarding map[string]netip.Addr       // hardware address to VTEP
}

func newWays() *ways {
	return &ways{
		routes:     map[netip.Prefix]netip.Addr{},
		neighbours: map[netip.Addr]string{},
		forwarding: map[string]netip.Addr{},
	}
}

// wantedWays returns the ways to a network's peers. A subnet's neighbour has the subnet's first address, as with
// flannel.
func wantedWays(s *state, bridge string) (*ways, error) {
	w := newWays()
	for _, peer := range s.peers[bridge] {
		if s.behind(peer) || !peer.Subnet.Addr().Is4() {
			continue
		}
		mac, err := net.ParseMAC(peer.MAC)
		if err != nil {
			return nil, fmt.Errorf("hardware address of peer %s: %w", peer.ID, err)
		}

		subnet := peer.Subnet.Masked()
		w.routes[subnet] = subnet.Addr()
		w.neighbours[subnet.Addr()] = mac.String()
		w.forwarding[mac.String()] = peer.VTEP
	}

	return w, nil
}

// observeWays reads the ways to an overlay's peers from the kernel.
func observeWays(h *netlink.Handle, link netlink.Link) (*ways, error) {
	w := newWays()
	routes, err := routesOf(h, link, routeProtocol)
	if err != nil {
		return nil, err
	}
	for _, r := range routes {
		w.routes[r.Dst] = r.Via
	}

	neighbours, err := h.NeighList(link.Attrs().Index, unix.AF_INET)
	if err != nil {
		return nil, fmt.Errorf("list neighbours: %w", err)
	}
	for _, n := range neighbours {
		if addr, ok := netip.AddrFromSlice(n.IP.To4()); ok && n.State == netlink.NUD_PERMANENT {
			w.neighbours[addr] = n.HardwareAddr.String()
		}
	}

	forwarding, err := h.NeighList(link.Attrs().Index, unix.AF_BRIDGE)
	if err != nil {
		return nil, fmt.Errorf("list forwarding entries: %w", err)
	}
	for _, n := range forwarding {
		if addr, ok := netip.AddrFromSlice(n.IP.To4()); ok {
			w.forwarding[n.HardwareAddr.String()] = addr
		}
	}

	return w, nil
}

// differences returns a line for each part of w that is not in have, and the reverse.
func (w *ways) differences(have *ways) []string {
	var found []string
	found = append(found, mapDifferences("route to", w.routes, have.routes)...)
	found = append(found, mapDifferences("neighbour", w.neighbours, have.neighbours)...)
	return append(found, mapDifferences("forwarding entry", w.forwarding, have.forwarding)...)
}

func mapDifferences[K comparable, V comparable](kind string, want, have map[K]V) []string {
	var found []string
	for k, v := range want {
		if h, ok := have[k]; !ok || h != v {
			found = append(found, fmt.Sprintf("missing: %s %v by %v", kind, k, v))
		}
	}

	for k, v := range have {
		if _, ok := want[k]; !ok {
			found = append(found, fmt.Sprintf("left over: %s %v by %v", kind, k, v))
		}
	}

	slices.Sort(found)
	return found
}

// syncPeers makes the ways to an overlay's peers what they should be.
func (p *space) syncPeers(h *netlink.Handle, b netplan.Bridge, s *state) error {
	link, err := h.LinkByName(vxlanLink(b.ID))
	if err != nil {
		return err
	}
	want, err := wantedWays(s, b.ID)
	if err != nil {
		return err
	}

	have, err := observeWays(h, link)
	if err != nil {
		return err
	}

	// Removals come first: an address may be another host's now.
	if err := dropWays(h, link, want, have); err != nil {
		return err
	}

	return setWays(h, link, want, have)
}

// dropWays removes the ways that are in have and not in want.
func dropWays(h *netlink.Handle, link netlink.Link, want, have *ways) error {
	index := link.Attrs().Index
	for dst, via := range have.routes {
		if want.routes[dst] != via {
			if err := h.RouteDel(route(link, netplan.Route{
				Dst: dst,
				Via: via,
			})); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("remove route to %s: %w", dst, err)
			}
		}
	}

	for addr := range have.neighbours {
		if _, ok := want.neighbours[addr]; !ok {
			if err := h.NeighDel(neighbour(index, addr, "")); err != nil && !errors.Is(err, unix.ENOENT) {
				return fmt.Errorf("remove neighbour %s: %w", addr, err)
			}
		}
	}

	for mac, vtep := range have.forwarding {
		if want.forwarding[mac] != vtep {
			if err := h.NeighDel(forwarding(index, mac, vtep)); err != nil && !errors.Is(err, unix.ENOENT) {
				return fmt.Errorf("remove forwarding entry of %s: %w", mac, err)
			}
		}
	}

	return nil
}

// setWays adds the missing ways. A peer's route comes last: when it is there, the rest is.
func setWays(h *netlink.Handle, link netlink.Link, want, have *ways) error {
	index := link.Attrs().Index
	for mac, vtep := range want.forwarding {
		if have.forwarding[mac] != vtep {
			if err := h.NeighSet(forwarding(index, mac, vtep)); err != nil {
				return fmt.Errorf("set forwarding entry of %s to %s: %w", mac, vtep, err)
			}
		}
	}

	for addr, mac := range want.neighbours {
		if have.neighbours[addr] != mac {
			if err := h.NeighSet(neighbour(index, addr, mac)); err != nil {
				return fmt.Errorf("set neighbour %s: %w", addr, err)
			}
		}
	}

	for _, dst := range slices.SortedFunc(maps.Keys(want.routes),
		func(a, b netip.Prefix) int { return a.Bits() - b.Bits() }) {
		if have.routes[dst] != want.routes[dst] {
			r := route(link, netplan.Route{Dst: dst, Via: want.routes[dst]})
			r.SetFlag(netlink.FLAG_ONLINK)
			if err := h.RouteReplace(r); err != nil {
				return fmt.Errorf("set route to %s: %w", dst, err)
			}
		}
	}

	return nil
}

func neighbour(index int, addr netip.Addr, mac string) *netlink.Neigh {
	return &netlink.Neigh{
		LinkIndex:    index,
		Family:       unix.AF_INET,
		State:        netlink.NUD_PERMANENT,
		IP:           addr.AsSlice(),
		HardwareAddr: mustMAC(mac),
	}
}

func forwarding(index int, mac string, vtep netip.Addr) *netlink.Neigh {
	return &netlink.Neigh{
		LinkIndex:    index,
		Family:       unix.AF_BRIDGE,
		State:        netlink.NUD_PERMANENT,
		Flags:        netlink.NTF_SELF,
		IP:           vtep.AsSlice(),
		HardwareAddr: mustMAC(mac),
	}
}
