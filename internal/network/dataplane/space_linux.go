package dataplane

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

// space is the data plane of one network namespace, with the ports of its networks in pods' namespaces.
type space struct {
	cfg   Config
	place place
	table *table
	want  *state   // nil: nothing was applied, or the last call did not succeed
	rules *ruleset // what want asks of table
	// podRules has the generations of the rules in pods' namespaces, of those that have any. All spaces of a host share
	// it.
	podRules map[string]uint32

	// gateways has the servers at the gateways of networks, by the IDs of the networks.
	gateways map[string]gateway
}

// place is all that tells the space of a host's own namespace from that of an isolated network.
type place interface { //nolint:interfacebloat // a method for each difference
	// owns reports whether the ports of a network are the space's.
	owns(bridge string) bool
	// uplink returns the interface by which a network's packets leave the namespace.
	uplink(b netplan.Bridge) string
	// underlay returns the space by whose namespace the packets of overlays leave the host.
	underlay() *space
	// waysOut returns the elements for networks that leave by this namespace and have another, by their IDs.
	waysOut() map[string]item
	// renew is called before all of the namespace is looked at, and tidy when its links are as they are wanted.
	renew()
	tidy(want *state) error
	// observed completes what was read from the namespace's links.
	observed(plan *netplan.Plan) error
}

func newSpace(cfg Config, at place, podRules map[string]uint32) (*space, error) {
	table, err := openTable(cfg.Netns)
	if err != nil {
		return nil, err
	}
	return &space{
		cfg:      cfg,
		place:    at,
		table:    table,
		podRules: podRules,
		gateways: map[string]gateway{},
	}, nil
}

// pin returns the path of a pod's namespace.
func (p *space) pin(namespace string) string { return filepath.Join(p.cfg.PinDir, namespace) }

// apply makes the namespace match a plan, whatever is there.
func (p *space) apply(ctx context.Context, plan netplan.Plan) error {
	want := newState(plan)
	p.want = nil
	if err := p.applyAll(ctx, want); err != nil {
		return err
	}
	p.want = want
	return nil
}

// applyChange carries out a change of the plan that was applied last.
func (p *space) applyChange(ctx context.Context, c netplan.Change) error {
	want := p.want
	if want == nil {
		return errors.New("change the host's network: no whole plan was applied before")
	}

	p.want = nil
	if err := p.applyStep(ctx, want, c); err != nil {
		if err := p.applyAll(ctx, want); err != nil {
			return err
		}
	}
	p.want = want
	return nil
}

// applyStep changes want by c, and the kernel likewise.
func (p *space) applyStep(ctx context.Context, want *state, c netplan.Change) error {
	stale := newStaleFlows(want, p.rules, c)
	gone := make([]netplan.Port, 0, len(c.Removed.Ports))
	for _, id := range c.Removed.Ports {
		if port, ok := want.ports[id]; ok {
			gone = append(gone, port)
		}
	}

	overlays := map[string]bool{}
	want.peersChanged(c, overlays)
	kept := want.keptWays()
	want.change(c)
	c = withPorts(c, want)
	want.peersChanged(netplan.Change{Set: netplan.Plan{Peers: c.Set.Peers}}, overlays)
	if err := p.stepLinks(ctx, want, step{c, gone, overlays}); err != nil {
		return err
	}

	if len(kept)+len(want.kept) > 0 {
		if err := netns.Netlink(p.cfg.Netns,
			func(h *netlink.Handle) error { return p.syncKept(h, want, kept) }); err != nil {
			return err
		}
	}

	d := &delta{add: map[slot]entry{}}
	p.changeRules(want, c, d)
	if err := p.table.change(ctx, p.rules, d); err != nil {
		return err
	}

	return p.forget(stale)
}

// withPorts adds to a change the ports of the switches that it changes, because a port's settings depend on its switch.
func withPorts(c netplan.Change, want *state) netplan.Change {
	if len(c.Set.Bridges) == 0 {
		return c
	}
	changed := map[string]bool{}
	for _, b := range c.Set.Bridges {
		changed[b.ID] = true
	}

	var ports []netplan.Port
	for _, port := range c.Set.Ports {
		if !changed[port.Bridge] {
			ports = append(ports, port)
		}
	}

	for _, port := range sorted(want.ports) {
		if changed[port.Bridge] {
			ports = append(ports, port)
		}
	}

	c.Set.Ports = ports
	return c
}

// step is a change with what stepLinks needs of the state before: the ports that are removed, and the overlays whose
// ways change.
type step struct {
	netplan.Change
	gone     []netplan.Port
	overlays map[string]bool
}

// stepLinks changes links, addresses and routes. Removals come first, because others may get the addresses.
func (p *space) stepLinks(ctx context.Context, want *state, c step) error {
	s, r := &c.Set, &c.Removed
	for _, id := range s.Namespaces {
		if err := p.ensureNamespace(id, false); err != nil {
			return err
		}
	}

	if len(s.Bridges)+len(s.Ports)+len(r.Bridges)+len(c.gone)+len(c.overlays) > 0 {
		err := netns.Netlink(p.cfg.Netns, func(h *netlink.Handle) error {
			for _, port := range c.gone {
				if err := p.removePort(h, port); err != nil {
					return fmt.Errorf("remove port of endpoint %s: %w", port.ID, err)
				}
			}

			if err := p.stepSwitches(h, want, c); err != nil {
				return err
			}
			return p.stepPorts(ctx, h, want, c.Set)
		})
		if err != nil {
			return err
		}
	}

	for _, id := range r.Namespaces {
		delete(p.podRules, id)
		if err := netns.Remove(p.pin(id)); err != nil {
			return err
		}
	}

	return nil
}

func (p *space) stepSwitches(h *netlink.Handle, want *state, c step) error {
	for _, id := range c.Removed.Bridges {
		if err := p.removeBridge(h, id, want); err != nil {
			return fmt.Errorf("remove bridge of network %s: %w", id, err)
		}
	}

	for _, b := range c.Set.Bridges {
		if err := p.ensureBridge(h, b); err != nil {
			return fmt.Errorf("make bridge of network %s: %w", b.ID, err)
		}
		c.overlays[b.ID] = true
	}

	for id := range c.overlays {
		if b, ok := want.bridges[id]; ok && b.Mode == netplan.Overlay {
			if err := p.syncPeers(h, b, want); err != nil {
				return fmt.Errorf("set peers of network %s: %w", id, err)
			}
		}
	}

	return nil
}

// stepPorts makes ports; those of switches that were set too are looked at in depth.
func (p *space) stepPorts(ctx context.Context, h *netlink.Handle, want *state, set netplan.Plan) error {
	for _, port := range set.Ports {
		deep := slices.ContainsFunc(set.Bridges, func(b netplan.Bridge) bool { return b.ID == port.Bridge })
		if err := p.ensurePort(ctx, h, port, want, deep); err != nil {
			return fmt.Errorf("make port of endpoint %s: %w", port.ID, err)
		}
	}
	return nil
}

// changeRules updates p.rules by a change, and adds the elements that change to d.
func (p *space) changeRules(want *state, c netplan.Change, d *delta) {
	for _, id := range c.Removed.Bridges {
		p.rules.set("bridge "+id, nil, d)
	}

	for _, id := range c.Removed.Ports {
		p.rules.set("port "+id, nil, d)
	}

	for _, id := range c.Removed.LoadBalancers {
		p.rules.set("balancer "+id, nil, d)
	}

	for _, b := range c.Set.Bridges {
		p.rules.set("bridge "+b.ID, bridgeItem(b, p.parentName(b)), d)
	}

	for _, port := range c.Set.Ports {
		p.rules.set("port "+port.ID, p.rules.portItem(port, want.bridges[port.Bridge].Mode, want.beside(port)), d)
	}

	for _, lb := range c.Set.LoadBalancers {
		p.rules.set("balancer "+lb.ID, balancerItem(lb), d)
	}
}

// askAll computes p.rules from want.
func (p *space) askAll(want *state) {
	p.rules = newRuleset()
	d := &delta{add: map[slot]entry{}}
	p.rules.set("host", bridgeItem(netplan.Bridge{}, p.cfg.Uplink), d)
	for id, way := range p.place.waysOut() {
		p.rules.set("apart "+id, way, d)
	}
	p.changeRules(want, netplan.Change{Set: netplan.Plan{
		Bridges:       sorted(want.bridges),
		Ports:         sorted(want.ports),
		LoadBalancers: sorted(want.balancers),
	}}, d)
}

// applyAll makes the kernel match want.
func (p *space) applyAll(ctx context.Context, want *state) error {
	p.place.renew()
	for id := range want.namespaces {
		if err := p.ensureNamespace(id, true); err != nil {
			return err
		}
	}

	if err := netns.Do(p.cfg.Netns, hostSysctls); err != nil {
		return err
	}

	err := netns.Netlink(p.cfg.Netns, func(h *netlink.Handle) error {
		if err := errors.Join(p.closeStrayGateways(want), p.removeStrangers(h, want)); err != nil {
			return err
		}

		all := netplan.Plan{Bridges: sorted(want.bridges), Ports: sorted(want.ports)}
		if err := p.stepSwitches(h, want, step{
			Change:   netplan.Change{Set: all},
			overlays: map[string]bool{},
		}); err != nil {
			return err
		}

		if err := p.stepPorts(ctx, h, want, all); err != nil {
			return err
		}

		return p.syncAllKept(h, want)
	})
	if err != nil {
		return err
	}

	for id := range want.namespaces {
		if err := p.removeStrayPorts(id, want); err != nil {
			return err
		}
	}

	if err := p.place.tidy(want); err != nil {
		return err
	}
	p.askAll(want)
	if err := p.table.replace(ctx, p.rules); err != nil {
		return fmt.Errorf("set nftables table %q: %w", tableName, err)
	}

	return p.forget(allFlows(want))
}
