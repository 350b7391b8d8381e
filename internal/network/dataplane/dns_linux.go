package dataplane

import (
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/vishvananda/netlink"

	"mullion.dev/mullion/internal/network/netplan"
)

// dnsProxy is who answers DNS questions at the gateways of a network, and for what he was started: sockets that are
// bound to a link do not outlive it.
type dnsProxy struct {
	io.Closer
	key string
}

// wantedDNS is the key of the proxy that a network is to have, "" if it is to have none.
func (p *Plane) wantedDNS(h *netlink.Handle, b netplan.Bridge) (string, error) {
	if !b.DNSProxy || p.cfg.DNS == nil || len(b.Gateways) == 0 {
		return "", nil
	}
	link, err := lookup(h, bridgeLink(b.ID))
	if err != nil || link == nil {
		return "missing", err
	}
	return fmt.Sprint(link.Attrs().Index, b.Gateways), nil
}

// syncDNS starts a network's proxy, starts it anew or stops it. It requires the addresses of the gateways.
func (p *Plane) syncDNS(h *netlink.Handle, b netplan.Bridge) error {
	want, err := p.wantedDNS(h, b)
	if err != nil || p.dns[b.ID].key == want {
		return err
	}
	if err := p.closeDNS(b.ID); err != nil {
		return err
	}
	if want == "" {
		return nil
	}
	var at []netip.Addr
	for _, g := range b.Gateways {
		at = append(at, g.Addr())
	}
	c, err := p.cfg.DNS(bridgeLink(b.ID), at)
	if err != nil {
		return err
	}
	p.dns[b.ID] = dnsProxy{c, want}
	return nil
}

func (p *Plane) dnsIsWhole(h *netlink.Handle, b netplan.Bridge) (bool, error) {
	want, err := p.wantedDNS(h, b)
	return p.dns[b.ID].key == want, err
}

func (p *Plane) closeDNS(id string) error {
	have, ok := p.dns[id]
	if !ok {
		return nil
	}
	delete(p.dns, id)
	return have.Close()
}

// closeStrayDNS stops the proxies of networks that are not wanted.
func (p *Plane) closeStrayDNS(want *state) error {
	var errs []error
	for id := range p.dns {
		if _, ok := want.bridges[id]; !ok {
			errs = append(errs, p.closeDNS(id))
		}
	}
	return errors.Join(errs...)
}
