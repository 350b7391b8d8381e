package overlay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/netplan"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/spec"
)

// linuxRouter returns the hardware address of a Linux node's VXLAN interface, made from the node's address: locally
// administered, with the prefix that the kubelet and CNI's bridge have used for such addresses.
func linuxRouter(a netip.Addr) net.HardwareAddr {
	b := a.As4()
	return net.HardwareAddr{0x0a, 0x58, b[0], b[1], b[2], b[3]}
}

// syncLinux makes the routes of the Linux hosts' VXLAN interfaces those to the other hosts. A host without its
// namespace is skipped: it is updated when its Node changes.
func (o *Overlay) syncLinux(ctx context.Context, all ends) error {
	var errs []error
	for _, h := range o.Linux {
		subnet, pin := o.subnets[h.Name], o.Netns(h.Name)
		there, err := netns.Exists(pin)
		if err != nil || !there || !subnet.IsValid() {
			errs = append(errs, err)
			continue
		}

		var peers []netplan.Peer
		for _, e := range all.known {
			if e.subnet != subnet {
				peers = append(peers, netplan.Peer{
					ID:     e.subnet.String(),
					Subnet: e.subnet,
					VTEP:   e.address,
					MAC:    e.router.String(),
				})
			}
		}

		vtep := dataplane.VTEP{
			Netns:  pin,
			Link:   podnet.NetworkName(spec.ModeOverlay),
			Uplink: underlay.HostLink,
			Subnet: subnet,
			Overlay: netplan.VXLAN{
				VNI:  podnet.VSID,
				Port: podnet.VXLANPort,
				VTEP: h.Address,
				MAC:  linuxRouter(h.Address).String(),
			},
		}

		if err := vtep.Apply(ctx, peers, all.unknown); err != nil {
			errs = append(errs, fmt.Errorf("set the remote subnets of node %q: %w", h.Name, err))
		}
	}

	return errors.Join(errs...)
}
