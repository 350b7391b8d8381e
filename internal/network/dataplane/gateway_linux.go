package dataplane

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"

	"mullion.dev/mullion/internal/network/dhcp"
	"mullion.dev/mullion/internal/network/netplan"
)

// gateway is who answers at the gateways of a network, and for what they were started: sockets that are bound to a link
// do not outlive it.
type gateway struct {
	dns, dhcp bool
	key       string
	closers   []io.Closer
}

func (g *gateway) close() error {
	var errs []error
	for _, c := range g.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// wantedGateway returns what is to answer at a network's gateways, without key if nothing is.
func (p *space) wantedGateway(h *netlink.Handle, b netplan.Bridge) (gateway, error) {
	want := gateway{dns: b.DNSProxy && p.cfg.DNS != nil, dhcp: b.DHCP && p.cfg.DHCP != nil}
	if len(b.Gateways) == 0 || (!want.dns && !want.dhcp) {
		return gateway{}, nil
	}
	link, err := lookup(h, bridgeLink(b.ID))
	if err != nil || link == nil {
		want.key = "missing"
		return want, err
	}
	want.key = fmt.Sprint(link.Attrs().Index, want.dns, want.dhcp, b.Gateways)
	return want, nil
}

// syncGateway starts what answers at a network's gateways, starts it anew or stops it. It requires the addresses of the
// gateways.
func (p *space) syncGateway(h *netlink.Handle, b netplan.Bridge) error {
	want, err := p.wantedGateway(h, b)
	if err != nil || p.gateways[b.ID].key == want.key {
		return err
	}
	if err := p.closeGateway(b.ID); err != nil {
		return err
	}

	if want.key == "" {
		return nil
	}

	if want.dns {
		var at []netip.Addr
		for _, g := range b.Gateways {
			at = append(at, g.Addr())
		}

		c, err := p.cfg.DNS(bridgeLink(b.ID), at)
		if err != nil {
			return err
		}
		want.closers = append(want.closers, c)
	}

	if server := gateway4(b); want.dhcp && server.IsValid() {
		c, err := p.cfg.DHCP(bridgeLink(b.ID), server, func(mac net.HardwareAddr) (dhcp.Lease, bool) {
			return p.lease(b.ID, mac)
		})
		if err != nil {
			return errors.Join(err, want.close())
		}
		want.closers = append(want.closers, c)
	}

	p.gateways[b.ID] = want
	return nil
}

// gateway4 returns the network's first gateway of IPv4; not valid if it has none.
func gateway4(b netplan.Bridge) netip.Addr {
	for _, g := range b.Gateways {
		if g.Addr().Is4() {
			return g.Addr()
		}
	}
	return netip.Addr{}
}

// lease returns what a DHCP client is told whose hardware address is that of a port of the network.
func (p *space) lease(bridge string, mac net.HardwareAddr) (dhcp.Lease, bool) {
	if p.want == nil {
		return dhcp.Lease{}, false
	}

	b, port := p.want.bridges[bridge], p.want.portOf(bridge, mac.String())
	for _, a := range port.Addrs {
		if !a.Addr().Is4() {
			continue
		}
		lease := dhcp.Lease{Addr: a, Router: gateway4(b)}
		if b.DNSProxy {
			lease.DNS = []netip.Addr{lease.Router}
		}
		return lease, true
	}

	return dhcp.Lease{}, false
}

func (p *space) gatewayIsWhole(h *netlink.Handle, b netplan.Bridge) (bool, error) {
	want, err := p.wantedGateway(h, b)
	return p.gateways[b.ID].key == want.key, err
}

func (p *space) closeGateway(id string) error {
	have := p.gateways[id]
	delete(p.gateways, id)
	return have.close()
}

// closeStrayGateways stops what answers for networks that are not wanted.
func (p *space) closeStrayGateways(want *state) error {
	var errs []error
	for id := range p.gateways {
		if _, ok := want.bridges[id]; !ok {
			errs = append(errs, p.closeGateway(id))
		}
	}
	return errors.Join(errs...)
}
