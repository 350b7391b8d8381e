package main

import (
	"fmt"

	"github.com/Microsoft/hnslib"
)

// defaultCompartment is the host's own
// (https://github.com/flannel-io/flannel/blob/v0.27.4/pkg/backend/hostgw/hostgw_windows.go).
const defaultCompartment = 1

// apply makes the network and the host's endpoint, or finds them as they are to be.
func (p plan) apply() error {
	network, err := p.network()
	if err != nil {
		return fmt.Errorf("make HNS network %q: %w", p.Network, err)
	}
	endpoint, err := p.endpoint(network)
	if err != nil {
		return fmt.Errorf("make the host's endpoint on %q: %w", p.Network, err)
	}
	if err := endpoint.HostAttach(defaultCompartment); err != nil {
		return fmt.Errorf("put the host on %q: %w", p.Network, err)
	}
	return nil
}

func (p plan) network() (*hnslib.HNSNetwork, error) {
	all, err := hnslib.HNSListNetworkRequest("GET", "", "")
	if err != nil {
		return nil, err
	}

	for i, n := range all {
		if n.Name != p.Network {
			continue
		}
		if n.Type == "L2Bridge" && len(n.Subnets) == 1 && n.Subnets[0].AddressPrefix == p.Subnet.String() {
			return &all[i], nil
		}
		if _, err := n.Delete(); err != nil {
			return nil, fmt.Errorf("remove the one of another range: %w", err)
		}
	}

	wanted := hnslib.HNSNetwork{
		Name:    p.Network,
		Type:    "L2Bridge",
		Subnets: []hnslib.Subnet{{AddressPrefix: p.Subnet.String(), GatewayAddress: p.Gateway.String()}},
	}

	return wanted.Create()
}

func (p plan) endpoint(network *hnslib.HNSNetwork) (*hnslib.HNSEndpoint, error) {
	name := p.Network + "_ep"
	all, err := hnslib.HNSListEndpointRequest()
	if err != nil {
		return nil, err
	}

	for i, e := range all {
		if e.Name == name && e.VirtualNetwork == network.Id && e.IPAddress.String() == p.Host.String() {
			return &all[i], nil
		}
	}

	wanted := hnslib.HNSEndpoint{
		Name:           name,
		VirtualNetwork: network.Id,
		IPAddress:      p.Host.AsSlice(),
		GatewayAddress: "0.0.0.0",
	}

	return wanted.Create()
}
