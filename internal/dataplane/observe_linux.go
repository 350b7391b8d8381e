package dataplane

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/netns"
	"mullion.dev/mullion/internal/netplan"
)

// Observe reads the plan back out of the kernel. Load balancers come without their backends.
func (p *Plane) Observe(ctx context.Context) (netplan.Plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	plan, _, err := p.observeLinks()
	if err != nil {
		return plan, err
	}
	if err := netns.Do(p.cfg.Netns, func() error { return p.observeRules(ctx, &plan) }); err != nil {
		return plan, fmt.Errorf("look at nftables: %w", err)
	}
	plan.Normalize()
	return plan, nil
}

// observeLinks reads what of a plan is not nftables', and the IDs of bridges and ports that are down.
func (p *Plane) observeLinks() (plan netplan.Plan, down []string, err error) {
	if plan.Namespaces, err = p.observeNamespaces(); err != nil {
		return plan, nil, err
	}
	bridges := map[int]string{} // interface number to ID
	masters := map[string]int{} // port ID to its bridge's interface number
	err = netns.Netlink(p.cfg.Netns, func(h *netlink.Handle) error {
		links, err := h.LinkList()
		if err != nil {
			return err
		}
		for _, l := range links {
			a := l.Attrs()
			id, isBridge := strings.CutPrefix(a.Alias, aliasBridge)
			rest, isPort := strings.CutPrefix(a.Alias, aliasPort)
			switch {
			case isBridge:
				bridges[a.Index] = id
				b := netplan.Bridge{ID: id, Mode: netplan.L2Bridge, MAC: a.HardwareAddr.String()}
				if b.Addrs, err = addrsOf(h, l); err != nil {
					return err
				}
				plan.Bridges = append(plan.Bridges, b)
			case isPort:
				id, _, _ = strings.Cut(rest, " ")
				masters[id] = a.MasterIndex
			default:
				continue
			}
			if a.Flags&net.FlagUp == 0 {
				down = append(down, id)
			}
		}
		return nil
	})
	if err != nil {
		return plan, nil, fmt.Errorf("look at the host's links: %w", err)
	}
	for _, ns := range plan.Namespaces {
		ports, err := p.observePorts(ns)
		if err != nil {
			return plan, nil, err
		}
		for _, port := range ports {
			master, ok := masters[port.ID]
			if !ok {
				continue // half a pair
			}
			port.Bridge = bridges[master]
			plan.Ports = append(plan.Ports, port)
		}
	}
	plan.Normalize()
	return plan, down, nil
}

func (p *Plane) observeNamespaces() ([]string, error) {
	names, err := p.pins()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range names {
		there, err := netns.Exists(p.Pin(name))
		if err != nil {
			return nil, err
		}
		if there {
			found = append(found, name)
		}
	}
	return found, nil
}

func addrsOf(h *netlink.Handle, l netlink.Link) ([]netip.Prefix, error) {
	list, err := h.AddrList(l, netlink.FAMILY_V4)
	var all []netip.Prefix
	for _, a := range list {
		if p, ok := prefixOf(a.IPNet); ok {
			all = append(all, p)
		}
	}
	return all, err
}

func (p *Plane) observePorts(ns string) ([]netplan.Port, error) {
	var ports []netplan.Port
	err := netns.Netlink(p.Pin(ns), func(h *netlink.Handle) error {
		links, err := h.LinkList()
		if err != nil {
			return err
		}
		for _, l := range links {
			id, ok := strings.CutPrefix(l.Attrs().Alias, aliasPort)
			if !ok {
				continue
			}
			port := netplan.Port{ID: id, Namespace: ns, Name: l.Attrs().Name, MAC: l.Attrs().HardwareAddr.String()}
			if port.Addrs, err = addrsOf(h, l); err != nil {
				return err
			}
			if port.Routes, err = podRoutes(h, l); err != nil {
				return err
			}
			ports = append(ports, port)
		}
		return nil
	})
	return ports, err
}

func (p *Plane) observeRules(ctx context.Context, plan *netplan.Plan) error {
	list := func(kind, name string) ([]*knftables.Element, error) {
		elements, err := p.nft.ListElements(ctx, kind, name)
		if knftables.IsNotFound(err) {
			return nil, nil
		}
		return elements, err
	}
	nat := map[string]*netplan.NAT{} // by endpoint
	for _, set := range []string{"nat_src", "nat_except", "nat_only"} {
		elements, err := list("set", set)
		if err != nil {
			return err
		}
		for _, e := range elements {
			n := nat[*e.Comment]
			if n == nil {
				n = &netplan.NAT{}
				nat[*e.Comment] = n
			}
			if len(e.Key) < 2 {
				continue
			}
			dst, err := parseNetwork(e.Key[1])
			if err != nil {
				return err
			}
			if set == "nat_except" {
				n.Except = append(n.Except, dst)
			} else {
				n.Only = append(n.Only, dst)
			}
		}
	}
	for i, port := range plan.Ports {
		if n := nat[port.ID]; n != nil {
			plan.Ports[i].NAT = []netplan.NAT{*n}
		}
	}
	for _, m := range []string{"vip", "nodeport"} {
		elements, err := list("map", m)
		if err != nil {
			return err
		}
		for _, e := range elements {
			if err := observeBalancer(plan, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func parseNetwork(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	return netip.ParsePrefix(s)
}

// observeBalancer adds an element of the map vip (address, protocol, port) or nodeport (protocol, port) to its balancer.
func observeBalancer(plan *netplan.Plan, e *knftables.Element) error {
	if e.Comment == nil || len(e.Key) < 2 {
		return fmt.Errorf("an element %v that was not made here", e.Key)
	}
	port, err := strconv.ParseUint(e.Key[len(e.Key)-1], 10, 16)
	if err != nil {
		return err
	}
	lb := netplan.LoadBalancer{ID: *e.Comment, Protocol: netplan.TCP, Port: uint16(port)}
	if e.Key[len(e.Key)-2] == "udp" {
		lb.Protocol = netplan.UDP
	}
	i := slices.IndexFunc(plan.LoadBalancers, func(o netplan.LoadBalancer) bool { return o.ID == lb.ID })
	if i < 0 {
		plan.LoadBalancers, i = append(plan.LoadBalancers, lb), len(plan.LoadBalancers)
	}
	if len(e.Key) == 3 {
		vip, err := netip.ParseAddr(e.Key[0])
		if err != nil {
			return err
		}
		plan.LoadBalancers[i].VIPs = append(plan.LoadBalancers[i].VIPs, vip)
	}
	return nil
}
