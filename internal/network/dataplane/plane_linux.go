package dataplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/dhcp"
	"mullion.dev/mullion/internal/network/netplan"
)

// Config says where the host is.
type Config struct {
	// Netns is the pin of the host's network namespace; that of the calling process when empty.
	Netns string
	// PinDir is the folder for the pins of pods' namespaces, named by their IDs. It belongs to this Plane alone.
	PinDir string
	// Uplink is the host's interface on the underlay; eth0 when empty.
	Uplink string
	// Adapter is what Windows calls the uplink. Linux' alias of it then says so: Adapter, or "vEthernet (ADAPTER)"
	// while a network goes through it. Empty: the uplink has no alias.
	Adapter string
	// Users are the Linux users that programs in pods run as.
	Users Users
	// DNS answers DNS questions that come by a link of the host's namespace to addresses of the host, until the result
	// is closed. Nil: nobody does, whatever the plan says.
	DNS func(link string, at []netip.Addr) (io.Closer, error)
	// DHCP answers DHCP clients that come by a link of the host's namespace, as the server with an address of the host,
	// until the result is closed: of is called for each of them, and may wait for calls of the Plane that are under
	// way, so closing must not wait for it. Nil: nobody does, whatever the plan says.
	DHCP func(link string, server netip.Addr, of func(net.HardwareAddr) (dhcp.Lease, bool)) (io.Closer, error)
}

// Users are the Linux users that programs in pods run as, by the SIDs of the Windows users, and of their groups.
type Users struct {
	BySID map[string][]uint32
	// Mask leaves of a user's number on the machine, where each pod has a range of its own, the one of BySID.
	Mask uint32
}

// Plane is the data plane of one host. Calls run one after another.
type Plane struct {
	cfg   Config
	mu    sync.Mutex
	table *table
	want  *state   // nil: nothing was applied, or the last call did not succeed
	rules *ruleset // what want asks of table
	// podRules has the generations of the rules in pods' namespaces, of those that have any.
	podRules map[string]uint32

	// gateways has the servers at the gateways of networks, by the IDs of the networks.
	gateways map[string]gateway

	// apart has the Planes of isolated networks by their IDs; homes says which network an object belongs to.
	apart map[string]*Plane
	homes homes
	// An isolated network has a namespace and a Plane of its own: parent is the host's Plane then, only the network's
	// ID, and bridge its switch. They are zero in the host's Plane.
	parent *Plane
	only   string
	bridge netplan.Bridge
}

// New checks that nftables works in the host's namespace, and changes nothing.
func New(cfg Config) (*Plane, error) {
	if cfg.Netns == "" {
		cfg.Netns = netns.Self
	}
	if cfg.Uplink == "" {
		cfg.Uplink = "eth0"
	}
	if cfg.PinDir == "" {
		return nil, errors.New("open data plane: no folder for pods' namespaces")
	}

	p := &Plane{
		cfg:      cfg,
		podRules: map[string]uint32{},
		gateways: map[string]gateway{},
		apart:    map[string]*Plane{},
		homes:    homes{},
	}

	var err error
	if p.table, err = openTable(cfg.Netns); err != nil {
		return nil, fmt.Errorf("open data plane: %w", err)
	}

	return p, nil
}

// Pin returns the path of a pod's namespace.
func (p *Plane) Pin(namespace string) string { return filepath.Join(p.cfg.PinDir, namespace) }

// Apply makes the kernel match the plan, whatever is there: every object is looked at in depth, and what the plan does
// not name is removed. It is for the start and for repairs; ApplyChange is for everything between.
func (p *Plane) Apply(ctx context.Context, plan netplan.Plan) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.want, p.homes = nil, homes{}
	parts, _ := p.homes.split(whole(plan), func(string) bool { return false })
	if err := p.removeStrayAparts(ctx, parts); err != nil { // another network may have its VNI now
		return err
	}

	maps.DeleteFunc(p.apart, func(id string, _ *Plane) bool { return parts[id] == nil })
	if err := p.ensureAparts(parts); err != nil {
		return err
	}
	if err := p.apply(ctx, parts[homeless].Set); err != nil {
		return err
	}

	if err := p.applyApart(ctx, parts); err != nil {
		p.want = nil
		return err
	}
	if err := p.nameUplink(); err != nil {
		p.want = nil
		return err
	}

	return nil
}

// apply does what Apply does in one namespace.
func (p *Plane) apply(ctx context.Context, plan netplan.Plan) error {
	want := newState(plan)
	p.want = nil
	if err := p.applyAll(ctx, want); err != nil {
		return err
	}
	p.want = want
	return nil
}

// ApplyChange carries out a change of the plan that was applied last. Its cost does not depend on the size of the plan.
// If it fails, for example because somebody else changed the kernel, the whole plan is applied instead. After an error,
// the next call must be Apply.
func (p *Plane) ApplyChange(ctx context.Context, c netplan.Change) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.want == nil {
		return errors.New("change the host's network: no whole plan was applied before")
	}

	parts, gone := p.homes.split(c, p.isApart)
	err := p.changeApart(ctx, parts, gone)
	if err == nil && len(c.Set.Bridges)+len(c.Removed.Bridges) > 0 {
		err = p.nameUplink()
	}
	if err != nil {
		p.want = nil
	}
	return err
}

// applyChange does what ApplyChange does in one namespace.
func (p *Plane) applyChange(ctx context.Context, c netplan.Change) error {
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
func (p *Plane) applyStep(ctx context.Context, want *state, c netplan.Change) error {
	stale := newStaleFlows(want, c)
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
func (p *Plane) stepLinks(ctx context.Context, want *state, c step) error {
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
		if err := netns.Remove(p.Pin(id)); err != nil {
			return err
		}
	}

	return nil
}

func (p *Plane) stepSwitches(h *netlink.Handle, want *state, c step) error {
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
func (p *Plane) stepPorts(ctx context.Context, h *netlink.Handle, want *state, set netplan.Plan) error {
	for _, port := range set.Ports {
		deep := slices.ContainsFunc(set.Bridges, func(b netplan.Bridge) bool { return b.ID == port.Bridge })
		if err := p.ensurePort(ctx, h, port, want, deep); err != nil {
			return fmt.Errorf("make port of endpoint %s: %w", port.ID, err)
		}
	}
	return nil
}

// changeRules updates p.rules by a change, and adds the elements that change to d.
func (p *Plane) changeRules(want *state, c netplan.Change, d *delta) {
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
func (p *Plane) askAll(want *state) {
	p.rules = newRuleset()
	d := &delta{add: map[slot]entry{}}
	p.rules.set("host", bridgeItem(netplan.Bridge{}, p.cfg.Uplink), d)
	for id, child := range p.apart {
		p.rules.set("apart "+id, apartItem(child.bridge), d)
	}
	p.changeRules(want, netplan.Change{Set: netplan.Plan{
		Bridges:       sorted(want.bridges),
		Ports:         sorted(want.ports),
		LoadBalancers: sorted(want.balancers),
	}}, d)
}

// applyAll makes the kernel match want.
func (p *Plane) applyAll(ctx context.Context, want *state) error {
	if p.parent == nil {
		clear(p.podRules)
	}
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

	if p.parent == nil {
		if err := p.removeNamespaces(want.namespaces); err != nil {
			return err
		}
	}
	p.askAll(want)
	if err := p.table.replace(ctx, p.rules); err != nil {
		return fmt.Errorf("set nftables table %q: %w", tableName, err)
	}

	return p.forget(allFlows(want))
}
