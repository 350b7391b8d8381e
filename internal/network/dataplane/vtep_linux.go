package dataplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

// VTEP is how a Linux node takes part in the overlay of Windows hosts: one VXLAN interface that has the first address
// of the node's pods, as flannel makes it on Linux
// (https://github.com/flannel-io/flannel/blob/v0.26.0/pkg/backend/vxlan/vxlan.go). The node's pods are connected by
// other means; the node routes between them and this interface.
type VTEP struct {
	// Netns is the node's pinned network namespace, Link the name of the interface, Uplink that of the one on the
	// underlay.
	Netns, Link, Uplink string
	// Overlay has the node's own address on the underlay and its router's hardware address, which is the interface's.
	Overlay netplan.VXLAN
	// Subnet is the range of the node's pod addresses.
	Subnet netip.Prefix
}

// OverlayMTU returns the largest packet in an overlay on an underlay that carries packets of mtu bytes.
func OverlayMTU(mtu int) int { return mtu - encapOverhead }

// Apply makes the interface, with ways to these peers and no others, except that the ways to the subnets in keep stay
// as they are. A peer's Bridge has no meaning here.
func (v VTEP) Apply(_ context.Context, peers []netplan.Peer, keep []netip.Prefix) error {
	plan := netplan.Plan{Peers: slices.Clone(peers)}
	for i := range plan.Peers {
		plan.Peers[i].Bridge = v.Link
	}

	err := netns.Netlink(v.Netns, func(h *netlink.Handle) error {
		link, err := v.ensure(h)
		if err != nil {
			return err
		}
		want, err := wantedWays(newState(plan), v.Link)
		if err != nil {
			return err
		}

		have, err := observeWays(h, link)
		if err != nil {
			return err
		}
		want.keep(have, keep)
		if err := dropWays(h, link, want, have); err != nil {
			return err
		}

		return setWays(h, link, want, have)
	})
	if err != nil {
		return fmt.Errorf("join the overlay with interface %q of %q: %w", v.Link, v.Netns, err)
	}

	return nil
}

// keep takes over the ways to some subnets as they are.
func (w *ways) keep(have *ways, subnets []netip.Prefix) {
	for _, subnet := range subnets {
		via, ok := have.routes[subnet.Masked()]
		if _, wanted := w.routes[subnet.Masked()]; !ok || wanted {
			continue
		}
		w.routes[subnet.Masked()] = via
		if mac, ok := have.neighbours[via]; ok {
			w.neighbours[via] = mac
			if vtep, ok := have.forwarding[mac]; ok {
				w.forwarding[mac] = vtep
			}
		}
	}
}

// ensure finds the interface as it has to be, or makes it anew.
func (v VTEP) ensure(h *netlink.Handle) (netlink.Link, error) {
	uplink, err := h.LinkByName(v.Uplink)
	if err != nil {
		return nil, fmt.Errorf("look for link %q: %w", v.Uplink, err)
	}
	mac, err := net.ParseMAC(v.Overlay.MAC)
	if err != nil {
		return nil, fmt.Errorf("hardware address of the node's router: %w", err)
	}

	want := &netlink.Vxlan{
		LinkAttrs: netlink.LinkAttrs{
			Name:         v.Link,
			HardwareAddr: mac,
			MTU:          OverlayMTU(uplink.Attrs().MTU),
		},
		VxlanId:      int(v.Overlay.VNI),
		Port:         int(v.Overlay.Port),
		SrcAddr:      v.Overlay.VTEP.AsSlice(),
		VtepDevIndex: uplink.Attrs().Index,
		UDPCSum:      true,
	}

	link, err := lookup(h, v.Link)
	if err != nil {
		return nil, err
	}

	if link != nil && !sameVXLAN(link, want) {
		if err := h.LinkDel(link); err != nil {
			return nil, fmt.Errorf("replace interface: %w", err)
		}
		link = nil
	}
	if link == nil {
		if err := h.LinkAdd(want); err != nil {
			return nil, fmt.Errorf("make VXLAN interface with VNI %d on UDP port %d: %w", want.VxlanId, want.Port, err)
		}
		if link, err = h.LinkByName(v.Link); err != nil {
			return nil, err
		}
	}

	if err := v.ensureAddress(h, link); err != nil {
		return nil, err
	}

	return link, setUp(h, link)
}

func sameVXLAN(have netlink.Link, want *netlink.Vxlan) bool {
	x, ok := have.(*netlink.Vxlan)
	return ok && x.VxlanId == want.VxlanId && x.Port == want.Port && x.VtepDevIndex == want.VtepDevIndex &&
		x.MTU == want.MTU &&
		x.SrcAddr.Equal(want.SrcAddr) && slices.Equal(x.HardwareAddr, want.HardwareAddr)
}

// ensureAddress makes the first address of the node's pods the interface's only one: the node sends to the overlay from
// it.
func (v VTEP) ensureAddress(h *netlink.Handle, link netlink.Link) error {
	want := v.Subnet.Masked().Addr()
	have, err := h.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("list addresses: %w", err)
	}

	stale := map[netip.Addr]*netlink.Addr{}
	for i := range have {
		if addr, ok := netip.AddrFromSlice(have[i].IP.To4()); ok {
			stale[addr] = &have[i]
		}
	}

	if _, there := stale[want]; !there {
		if err := h.AddrReplace(link, &netlink.Addr{IPNet: ipnet.Of(netip.PrefixFrom(want,
			want.BitLen()))}); err != nil {
			return fmt.Errorf("set address %s: %w", want, err)
		}
	}

	delete(stale, want)
	for addr := range maps.Keys(stale) {
		if err := h.AddrDel(link, stale[addr]); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("remove address %s: %w", addr, err)
		}
	}

	return nil
}
