package dataplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
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
	DHCP DHCPServer
}

// DHCPServer starts what answers DHCP clients: see Config.
type DHCPServer = func(link string, server netip.Addr, of func(net.HardwareAddr) (dhcp.Lease, bool)) (io.Closer, error)

// Users are the Linux users that programs in pods run as, by the SIDs of the Windows users, and of their groups.
type Users struct {
	BySID map[string][]uint32
	// Mask leaves of a user's number on the machine, where each pod has a range of its own, the one of BySID.
	Mask uint32
}

// Plane is the data plane of one host: it divides what is wanted between the host's own namespace and those of isolated
// networks. Calls run one after another.
type Plane struct {
	mu   sync.Mutex
	host *space
	// apart has the isolated networks by their IDs; homes says which network an object belongs to.
	apart map[string]*isolated
	homes homes
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

	p := &Plane{apart: map[string]*isolated{}, homes: homes{}}
	cfg.DHCP = p.withLease(cfg.DHCP)
	var err error
	if p.host, err = newSpace(cfg, p, map[string]uint32{}); err != nil {
		return nil, fmt.Errorf("open data plane: %w", err)
	}

	return p, nil
}

// Pin returns the path of a pod's namespace.
func (p *Plane) Pin(namespace string) string { return p.host.pin(namespace) }

// Apply makes the kernel match the plan, whatever is there: every object is looked at in depth, and what the plan does
// not name is removed. It is for the start and for repairs; ApplyChange is for everything between.
func (p *Plane) Apply(ctx context.Context, plan netplan.Plan) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.host.want, p.homes = nil, homes{}
	parts, _ := p.homes.split(whole(plan), func(string) bool { return false })
	if err := p.removeStrayAparts(ctx, parts); err != nil { // another network may have its VNI now
		return err
	}

	maps.DeleteFunc(p.apart, func(id string, _ *isolated) bool { return parts[id] == nil })
	if err := p.ensureAparts(parts); err != nil {
		return err
	}
	if err := p.host.apply(ctx, parts[homeless].Set); err != nil {
		return err
	}

	if err := p.applyApart(ctx, parts); err != nil {
		p.host.want = nil
		return err
	}
	if err := p.nameUplink(); err != nil {
		p.host.want = nil
		return err
	}

	return nil
}

// ApplyChange carries out a change of the plan that was applied last. Its cost does not depend on the size of the plan.
// If it fails, for example because somebody else changed the kernel, the whole plan is applied instead. After an error,
// the next call must be Apply.
func (p *Plane) ApplyChange(ctx context.Context, c netplan.Change) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.host.want == nil {
		return errors.New("change the host's network: no whole plan was applied before")
	}

	parts, gone := p.homes.split(c, p.isApart)
	err := p.changeApart(ctx, parts, gone)
	if err == nil && len(c.Set.Bridges)+len(c.Removed.Bridges) > 0 {
		err = p.nameUplink()
	}
	if err != nil {
		p.host.want = nil
	}

	return err
}

// owns implements place: the host's space has the ports of all networks that are not isolated.
func (p *Plane) owns(bridge string) bool { return !p.isApart(bridge) }

func (p *Plane) uplink(b netplan.Bridge) string {
	if b.Uplink != "" && b.Uplink != p.host.cfg.Adapter {
		return b.Uplink
	}
	return p.host.cfg.Uplink
}

func (p *Plane) underlay() *space { return p.host }

func (p *Plane) waysOut() map[string]item {
	all := map[string]item{}
	for id, network := range p.apart {
		all[id] = apartItem(network.bridge)
	}
	return all
}

func (p *Plane) renew() { clear(p.host.podRules) }

// tidy unpins the namespaces of pods that are not there any more.
func (p *Plane) tidy(want *state) error { return p.host.removeNamespaces(want.namespaces) }

func (p *Plane) observed(*netplan.Plan) error { return nil }

// carries reports whether a network of the host's goes through the uplink, in the host's namespace or in its own.
func (p *Plane) carries() bool {
	for _, b := range p.host.want.bridges {
		if b.Mode != netplan.WinNAT {
			return true
		}
	}
	for _, network := range p.apart {
		if network.bridge.Mode != netplan.WinNAT {
			return true
		}
	}
	return false
}

// nameUplink gives the uplink the name that Windows has for it now: on a network that goes through an adapter, the host
// has its addresses on a virtual one.
func (p *Plane) nameUplink() error {
	if p.host.cfg.Adapter == "" {
		return nil
	}
	alias := p.host.cfg.Adapter
	if p.carries() {
		alias = "vEthernet (" + alias + ")"
	}

	return netns.Netlink(p.host.cfg.Netns, func(h *netlink.Handle) error {
		link, err := lookup(h, p.host.cfg.Uplink)
		if err != nil || link == nil || link.Attrs().Alias == alias {
			return err
		}
		return h.LinkSetAlias(link, alias)
	})
}

// withLease returns what answers DHCP clients, whose questions are calls of the Plane as others.
func (p *Plane) withLease(serve DHCPServer) DHCPServer {
	if serve == nil {
		return nil
	}
	return func(link string, server netip.Addr, of func(net.HardwareAddr) (dhcp.Lease, bool)) (io.Closer, error) {
		return serve(link, server, func(mac net.HardwareAddr) (dhcp.Lease, bool) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return of(mac)
		})
	}
}
