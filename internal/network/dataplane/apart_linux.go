package dataplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

func apartLink(id string) string { return fmt.Sprintf("%s%08x", apartPrefix, uint32(hash(id))) }

// whole returns a change that leads from nothing to a plan.
func whole(plan netplan.Plan) netplan.Change { return netplan.Change{Set: plan} }

// isApart reports whether a network is apart at present.
func (p *Plane) isApart(bridge string) bool { return p.apart[bridge] != nil }

// isolated is a network with a namespace of its own, and the place of its space.
type isolated struct {
	*space
	host   *space
	bridge netplan.Bridge // its switch
}

func (i *isolated) owns(bridge string) bool { return bridge == i.bridge.ID }

func (i *isolated) uplink(netplan.Bridge) string { return i.cfg.Uplink }

func (i *isolated) underlay() *space { return i.host }

func (i *isolated) waysOut() map[string]item { return nil }

// renew and tidy leave pods' namespaces to the host's space, which has them all.
func (i *isolated) renew() {}

func (i *isolated) tidy(*state) error { return nil }

// observed sets the number of the network, which its address on the way out tells. Pods' namespaces are the host's.
func (i *isolated) observed(plan *netplan.Plan) error {
	plan.Namespaces = nil
	return netns.Netlink(i.cfg.Netns, func(h *netlink.Handle) error {
		link, err := lookup(h, wayOut)
		if err != nil || link == nil {
			return err
		}

		addrs, err := addrsOf(h, link)
		for _, a := range addrs {
			for b := range plan.Bridges {
				if number, ok := wayOutNumber(a); ok {
					plan.Bridges[b].Apart = number
				}
			}
		}

		return err
	})
}

// applyApart makes the networks that are apart as they should be. It requires that the host's own namespace was made.
func (p *Plane) applyApart(ctx context.Context, parts map[string]*netplan.Change) error {
	for _, home := range slices.Sorted(maps.Keys(parts)) {
		if home == homeless {
			continue
		}
		plan := parts[home].Set
		plan.Normalize()
		if err := p.apart[home].apply(ctx, plan); err != nil {
			return fmt.Errorf("network %s, apart: %w", home, err)
		}
	}
	return nil
}

// removeStrayAparts removes the networks that are apart and not in parts.
func (p *Plane) removeStrayAparts(ctx context.Context, parts map[string]*netplan.Change) error {
	names, err := p.host.allPins()
	if err != nil {
		return err
	}

	for _, name := range names {
		if id, ok := strings.CutPrefix(name, apartPin); ok && parts[id] == nil {
			if err := p.removeApart(ctx, id); err != nil {
				return err
			}
		}
	}

	return nil
}

// ensureAparts makes the namespaces of the networks of a change that are apart, with their ways out.
func (p *Plane) ensureAparts(parts map[string]*netplan.Change) error {
	for home, part := range parts {
		for _, b := range part.Set.Bridges {
			if home == homeless {
				continue
			}
			if err := p.ensureApart(b); err != nil {
				return fmt.Errorf("make namespace of network %s: %w", b.ID, err)
			}
		}
	}
	return nil
}

func (p *Plane) ensureApart(b netplan.Bridge) error {
	if err := checkName(b.ID); err != nil {
		return err
	}

	pin := p.Pin(apartPin + b.ID)
	made, err := netns.Ensure(pin)
	if err != nil {
		return err
	}
	if err := p.ensureWayOut(b, pin); err != nil {
		return fmt.Errorf("make its way out: %w", err)
	}

	network := p.apart[b.ID]
	if network == nil || made {
		if network, err = p.newApart(b.ID, pin); err != nil {
			return err
		}
		p.apart[b.ID] = network
	}
	network.bridge = b
	return nil
}

// changeApart carries out a change that is divided by the networks that are apart. Removals come first, as an address
// may be another's now.
func (p *Plane) changeApart(ctx context.Context, parts map[string]*netplan.Change, gone []string) error {
	for _, id := range gone {
		if err := p.removeApart(ctx, id); err != nil {
			return err
		}
		delete(parts, id)
	}

	fresh := map[string]bool{}
	for id := range parts {
		fresh[id] = id != homeless && !p.isApart(id)
	}

	if err := p.ensureAparts(parts); err != nil {
		return err
	}
	if err := p.setApartRules(ctx, parts, gone); err != nil {
		return err
	}
	if err := p.host.applyChange(ctx, *parts[homeless]); err != nil {
		return err
	}

	for id, part := range parts {
		if id == homeless {
			continue
		}

		network := p.apart[id]
		var err error
		if fresh[id] {
			part.Set.Normalize()
			err = network.apply(ctx, part.Set)
		} else {
			err = network.applyChange(ctx, *part)
		}

		if err != nil {
			return fmt.Errorf("network %s, apart: %w", id, err)
		}
	}

	return nil
}

// setApartRules changes the elements of the host's own table for networks that are apart.
func (p *Plane) setApartRules(ctx context.Context, parts map[string]*netplan.Change, gone []string) error {
	d := &delta{add: map[slot]entry{}}
	for _, id := range gone {
		p.host.rules.set("apart "+id, nil, d)
	}

	for id, part := range parts {
		if id != homeless && len(part.Set.Bridges) > 0 {
			p.host.rules.set("apart "+id, apartItem(p.apart[id].bridge), d)
		}
	}

	if d.empty() {
		return nil
	}

	return p.host.table.change(ctx, p.host.rules, d)
}

func (p *Plane) newApart(id, pin string) (*isolated, error) {
	network := &isolated{host: p.host, bridge: netplan.Bridge{ID: id}}
	cfg := Config{
		Netns:  pin,
		PinDir: p.host.cfg.PinDir,
		Uplink: wayOut,
		Users:  p.host.cfg.Users,
	}

	var err error
	network.space, err = newSpace(cfg, network, p.host.podRules)
	return network, err
}

// ensureWayOut makes the pair of interfaces between the namespace of a network and the host's own.
func (p *Plane) ensureWayOut(b netplan.Bridge, pin string) error {
	near, far := wayOutAddrs(b.Apart)
	name := apartLink(b.ID)

	return p.bothEnds(pin, func(h, inside *netlink.Handle) error {
		mtu := 1500
		if uplink, err := lookup(h, p.host.uplink(b)); err == nil && uplink != nil {
			mtu = uplink.Attrs().MTU
		}

		if err := ensurePair(h, inside, name, pin, mtu); err != nil {
			return err
		}
		if err := setEnd(h, name, near, mtu, p.host.cfg.Netns); err != nil {
			return err
		}
		if err := setEnd(inside, wayOut, far, mtu, pin); err != nil {
			return err
		}

		link, err := inside.LinkByName(wayOut)
		if err != nil {
			return err
		}

		if err := inside.RouteReplace(&netlink.Route{
			LinkIndex: link.Attrs().Index,
			Gw:        near.Addr().AsSlice(),
		}); err != nil {
			return fmt.Errorf("set default route: %w", err)
		}
		if link, err = h.LinkByName(name); err != nil {
			return err
		}

		return h.LinkSetAlias(link, aliasApart+b.ID)
	})
}

// bothEnds opens the host's own namespace and another.
func (p *Plane) bothEnds(pin string, f func(h, inside *netlink.Handle) error) error {
	return netns.Netlink(p.host.cfg.Netns, func(h *netlink.Handle) error {
		return netns.Netlink(pin, func(inside *netlink.Handle) error { return f(h, inside) })
	})
}

func ensurePair(h, inside *netlink.Handle, name, pin string, mtu int) error {
	near, err := lookup(h, name)
	if err != nil {
		return err
	}

	far, err := lookup(inside, wayOut)
	if err != nil {
		return err
	}
	if near != nil && far != nil && far.Attrs().ParentIndex == near.Attrs().Index {
		return nil
	}

	if near != nil {
		if err := removeLink(h, near); err != nil {
			return err
		}
	}
	if err := dropLink(inside, wayOut); err != nil {
		return err
	}

	ns, err := os.Open(pin)
	if err != nil {
		return err
	}
	defer func() { _ = ns.Close() }()

	return h.LinkAdd(&netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: name, MTU: mtu},
		PeerName:      wayOut,
		PeerNamespace: netlink.NsFd(int(ns.Fd())),
		PeerMTU:       uint32(mtu),
	})
}

// setEnd sets up one end of a pair.
func setEnd(h *netlink.Handle, name string, addr netip.Prefix, mtu int, ns string) error {
	link, err := h.LinkByName(name)
	if err != nil {
		return err
	}
	if link.Attrs().MTU != mtu {
		if err := h.LinkSetMTU(link, mtu); err != nil {
			return fmt.Errorf("set MTU %d: %w", mtu, err)
		}
	}

	err = netns.Do(ns, func() error {
		return sysctls([][2]string{
			{"net/ipv4/conf/" + name + "/rp_filter", "0"},
			{"net/ipv4/conf/" + name + "/forwarding", "1"},
			{"net/ipv4/conf/" + name + "/send_redirects", "0"},
		})
	})
	if err != nil {
		return err
	}

	if err := h.AddrReplace(link, &netlink.Addr{IPNet: ipnet.Of(addr)}); err != nil {
		return fmt.Errorf("set address %s: %w", addr, err)
	}

	return h.LinkSetUp(link)
}

// wayOutDifferences returns a line if the pair of a network that is apart is not there, or is down.
func (p *Plane) wayOutDifferences(id string) ([]string, error) {
	up := func(l netlink.Link) bool { return l != nil && l.Attrs().Flags&net.FlagUp != 0 }
	var found []string
	err := p.bothEnds(p.Pin(apartPin+id), func(h, inside *netlink.Handle) error {
		near, err := lookup(h, apartLink(id))
		if err != nil {
			return err
		}
		far, err := lookup(inside, wayOut)
		if err == nil && (!up(near) || !up(far) || far.Attrs().ParentIndex != near.Attrs().Index) {
			found = append(found, "missing: the way out of network "+id)
		}

		return err
	})

	return found, err
}

// removeApart removes a network that is apart, with its namespace. Its links go first: a namespace ends some time after
// its pin, and its VXLAN interface would keep the VNI until then.
func (p *Plane) removeApart(ctx context.Context, id string) error {
	pin := p.Pin(apartPin + id)
	there, err := netns.Exists(pin)
	if err != nil {
		return err
	}

	network := p.apart[id]
	if there && network == nil {
		if network, err = p.newApart(id, pin); err != nil {
			return err
		}
	}

	if there {
		if err := network.apply(ctx, netplan.Plan{}); err != nil {
			return fmt.Errorf("remove network %s, apart: %w", id, err)
		}
	}
	delete(p.apart, id)
	err = netns.Netlink(p.host.cfg.Netns, func(h *netlink.Handle) error { return dropLink(h, apartLink(id)) })
	return errors.Join(err, netns.Remove(pin))
}

// addVXLAN makes a VXLAN interface, whose packets are those of the host's own namespace.
func (p *space) addVXLAN(h *netlink.Handle, x *netlink.Vxlan) error {
	under := p.place.underlay()
	if under == p {
		return h.LinkAdd(x)
	}
	ns, err := os.Open(p.cfg.Netns)
	if err != nil {
		return err
	}
	defer func() { _ = ns.Close() }()
	x.Namespace = netlink.NsFd(int(ns.Fd()))
	return netns.Netlink(under.cfg.Netns, func(outer *netlink.Handle) error { return outer.LinkAdd(x) })
}

// tunnelUplink returns the number of the interface by which an overlay's packets leave the host, 0 if it is not there.
func (p *space) tunnelUplink(b netplan.Bridge) (index int, err error) {
	under := p.place.underlay()
	err = netns.Netlink(under.cfg.Netns, func(h *netlink.Handle) error {
		link, err := lookup(h, under.parentName(b))
		if err == nil && link != nil {
			index = link.Attrs().Index
		}
		return err
	})
	return index, err
}
