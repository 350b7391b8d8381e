package overlay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/spec"
)

// windowsHost is a Windows host's side of the overlay, as its HNS has it.
type windowsHost struct {
	name    string
	hns     HNS
	network string        // GUID of the HNS network
	have    []wire.Policy // its policies RemoteSubnetRoute
	self    end
}

// open connects to a host's HNS and reads its network; nil while it is not served or has no network yet.
func (o *Overlay) open(ctx context.Context, h Host) (*windowsHost, error) {
	conn, err := o.Dial(ctx, h.Name)
	if errors.Is(err, ErrDown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	host := &windowsHost{
		name: h.Name,
		hns:  conn,
		self: end{subnet: o.subnets[h.Name], address: h.Address},
	}
	there, err := host.read(ctx)
	if err != nil || !there {
		return nil, errors.Join(err, conn.Close())
	}

	return host, nil
}

// read finds the host's network, its routes and its distributed router's address. It reports whether it is there.
func (h *windowsHost) read(ctx context.Context) (bool, error) {
	var err error
	if h.network, err = hcn.Find(ctx, h.hns, hcn.Network, podnet.NetworkName(spec.ModeOverlay)); err != nil ||
		h.network == "" {
		return false, err
	}
	var n wire.Network
	if err := hcn.Query(ctx, h.hns, hcn.Network, h.network, &n); err != nil {
		return false, err
	}

	for _, p := range n.Policies {
		switch p.Type {
		case wire.PolicyRemoteSubnetRoute:
			h.have = append(h.have, p)
		case wire.PolicyDrMacAddress:
			var router wire.DrMacAddressSetting
			if err := json.Unmarshal(p.Settings, &router); err != nil {
				return false, err
			}
			if h.self.router, err = net.ParseMAC(router.Address); err != nil {
				return false, fmt.Errorf("read the distributed router of HNS network %s: %w", h.network, err)
			}
		}
	}

	if h.self.router == nil {
		return false, fmt.Errorf("HNS network %s of node %q names no distributed router", h.network, h.name)
	}

	return true, nil
}

// sync makes the routes to the known ends the network's only ones, besides those to the unknown.
func (h *windowsHost) sync(ctx context.Context, all ends) error {
	want, untouched := map[string]wire.RemoteSubnetRouteSetting{}, map[string]bool{}
	for _, e := range all.known {
		if e.subnet != h.self.subnet {
			want[e.subnet.String()] = e.setting()
		}
	}

	for _, subnet := range all.unknown {
		untouched[subnet.String()] = true
	}

	var stale, missing []wire.Policy
	for _, p := range h.have {
		var have wire.RemoteSubnetRouteSetting
		if err := json.Unmarshal(p.Settings, &have); err != nil {
			return err
		}
		if w, ok := want[have.DestinationPrefix]; ok && sameRoute(w, have) {
			delete(want, have.DestinationPrefix)
			continue
		}

		if untouched[have.DestinationPrefix] {
			continue
		}
		stale = append(stale, p)
	}

	for _, w := range want {
		p, err := hcn.Policy(wire.PolicyRemoteSubnetRoute, w)
		if err != nil {
			return err
		}
		missing = append(missing, p)
	}

	for _, change := range []struct {
		request  string
		policies []wire.Policy
	}{{"Remove", stale}, {"Add", missing}} {
		if len(change.policies) == 0 {
			continue
		}
		if err := hcn.Modify(ctx, h.hns, hcn.Network, h.network, change.request, "Policy",
			wire.Policies{Policies: change.policies}); err != nil {
			return err
		}
	}

	return nil
}

// setting returns the route to an end, as HNS spells it.
func (e end) setting() wire.RemoteSubnetRouteSetting {
	return wire.RemoteSubnetRouteSetting{
		DestinationPrefix:           e.subnet.String(),
		IsolationId:                 podnet.VSID,
		ProviderAddress:             e.address.String(),
		DistributedRouterMacAddress: strings.ToUpper(strings.ReplaceAll(e.router.String(), ":", "-")),
	}
}

func sameRoute(a, b wire.RemoteSubnetRouteSetting) bool {
	return a.IsolationId == b.IsolationId && a.ProviderAddress == b.ProviderAddress &&
		strings.EqualFold(a.DistributedRouterMacAddress, b.DistributedRouterMacAddress)
}
