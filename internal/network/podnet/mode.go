package podnet

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/spec"
)

// An overlay's numbers are flannel's on Windows, so that its nodes and ours could share one:
// https://github.com/flannel-io/flannel/blob/v0.27.4/Documentation/backends.md#vxlan
const (
	VSID      = 4096
	VXLANPort = 4789
)

// NetworkName is the name of the HNS network and of the CNI network; kube-proxy.exe gets it as --network-name.
func NetworkName(mode spec.Mode) string {
	switch mode {
	case spec.ModeOverlay:
		return "vxlan0"
	case spec.ModeNAT:
		return "nat"
	case spec.ModeTransparent:
		return "transparent"
	}
	return "cbr0"
}

// direct says that pods are connected by calls of HNS, without a plugin.
func (n *Network) direct() bool {
	return !n.cfg.Installed && (n.cfg.DualStack || n.cfg.Mode == spec.ModeNAT || n.cfg.Mode == spec.ModeTransparent)
}

// hasHostEndpoint says that the host is itself on the pods' network, with the subnet's third address, which win-bridge.exe
// makes the pods' gateway.
func hasHostEndpoint(mode spec.Mode) bool {
	return mode == spec.ModeL2Bridge || mode == spec.ModeL2Tunnel
}

// wanted is the HNS network of a pod CIDR, and with dual stack of the one of IPv6.
func (n *Network) wanted(cidr, six netip.Prefix) (wire.Network, error) {
	subnet, gateway := cidr, cidr.Addr().Next()
	w := wire.Network{Name: NetworkName(n.cfg.Mode), Type: wire.NetworkL2Bridge, SchemaVersion: wire.SchemaVersion{Major: 2}}
	var policies []wire.Policy
	switch n.cfg.Mode {
	case spec.ModeL2Tunnel:
		w.Type = wire.NetworkL2Tunnel
	case spec.ModeNAT:
		w.Type = wire.NetworkNAT
	case spec.ModeTransparent:
		w.Type = wire.NetworkTransparent
		subnet, gateway = n.cfg.Shared.Subnet, n.cfg.Shared.Gateway
		if !subnet.IsValid() {
			return w, fmt.Errorf("make HNS network %q: the host has no part of the underlay", w.Name)
		}
	case spec.ModeOverlay:
		w.Type = wire.NetworkOverlay
		vsid, err := hcn.Policy(wire.PolicyVSID, wire.IsolationSetting{IsolationId: VSID})
		if err != nil {
			return w, err
		}
		policies = append(policies, vsid)
	}
	subnets := []wire.Subnet{{IpAddressPrefix: subnet.String(), Policies: policies, Routes: []wire.Route{defaultRoute(gateway)}}}
	if six.IsValid() {
		subnets = append(subnets, wire.Subnet{IpAddressPrefix: six.String(), Routes: []wire.Route{defaultRoute(six.Addr().Next())}})
	}
	w.Ipams = []wire.Ipam{{Type: "Static", Subnets: subnets}}
	return w, nil
}

// defaultRoute is the way to everywhere of the gateway's family.
func defaultRoute(gateway netip.Addr) wire.Route {
	if gateway.Is6() {
		return wire.Route{NextHop: gateway.String(), DestinationPrefix: "::/0"}
	}
	return wire.Route{NextHop: gateway.String(), DestinationPrefix: "0.0.0.0/0"}
}

// confList is the CNI configuration of a host with that pod CIDR. Not given to pods are, of a bridge, the addresses .1 (the
// HNS network's gateway) and .2 (the host itself, where win-bridge.exe points pods to); of an overlay .1, its gateway.
func (n *Network) confList(cidr netip.Prefix) ([]byte, error) {
	exceptions := n.exceptions()
	plugin := map[string]any{"type": "win-bridge", "apiVersion": 2, "capabilities": map[string]bool{"dns": true, "portMappings": true}, "ipam": n.ipam(cidr)}
	policies := []any{policy(wire.PolicyOutBoundNAT, wire.OutBoundNATSetting{Exceptions: exceptions})}
	if n.cfg.Mode == spec.ModeOverlay {
		// As flannel delegates to win-overlay: beyond the overlay packets carry the host's address, also on the underlay,
		// which does not know pods; packets to Services are encapsulated as if for a pod.
		exceptions = []string{n.cfg.Pods.String(), n.cfg.Services.String()}
		policies = []any{
			policy(wire.PolicyOutBoundNAT, wire.OutBoundNATSetting{Exceptions: exceptions}),
			policy(wire.PolicySDNRoute, wire.SDNRouteSetting{DestinationPrefix: n.cfg.Services.String(), NeedEncap: true}),
			policy(wire.PolicyProviderAddress, wire.ProviderAddressSetting{ProviderAddress: n.cfg.Address.String()}),
		}
		plugin["type"], plugin["capabilities"] = "win-overlay", map[string]bool{"dns": true}
	}
	plugin["policies"] = policies
	return json.MarshalIndent(map[string]any{"cniVersion": "1.0.0", "name": NetworkName(n.cfg.Mode), "plugins": []any{plugin}}, "", "  ")
}

func policy(kind string, settings any) map[string]any {
	return map[string]any{"name": "EndpointPolicy", "value": map[string]any{"Type": kind, "Settings": settings}}
}

// ipam is host-local.exe's part of the configuration.
func (n *Network) ipam(cidr netip.Prefix) map[string]any {
	first := cidr.Addr().Next().Next()
	if hasHostEndpoint(n.cfg.Mode) {
		first = first.Next()
	}
	return map[string]any{
		"type":    "host-local",
		"dataDir": `C:\var\lib\cni\networks`, // its default, but for the drive, which would be the current one
		"ranges":  [][]map[string]string{{{"subnet": cidr.String(), "rangeStart": first.String()}}},
	}
}
