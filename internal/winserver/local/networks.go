package local

import (
	"fmt"
	"net/netip"
	"strings"

	"mullion.dev/mullion/internal/winserver"
)

// hns is HNS by its first API, with which flanneld makes its own networks of host-gw
// (https://github.com/flannel-io/flannel/blob/v0.27.4/pkg/backend/hostgw/hostgw_windows.go).
type hns interface {
	hnsNetworks
	hnsEndpoints
}

type hnsNetworks interface {
	listNetworks() ([]network, error)
	// createNetwork returns the network with the ID that it got.
	createNetwork(n network) (network, error)
	deleteNetwork(n network) error
}

type hnsEndpoints interface {
	listEndpoints() ([]endpoint, error)
	// createEndpoint returns the endpoint with the ID that it got.
	createEndpoint(e endpoint) (endpoint, error)
	deleteEndpoint(e endpoint) error
	// attach puts the host itself on the network of an endpoint.
	attach(e endpoint) error
}

// network is one of HNS. Subnets and the gateway of the first are as HNS writes them: "10.244.1.0/24", "10.244.1.1".
type network struct {
	id, name, kind string
	subnets        []string
	gateway        string
}

// endpoint is one of HNS; network is the ID of its network, in whichever letter case HNS writes it.
type endpoint struct {
	id, name, network string
	address           netip.Addr
}

const l2bridge = "L2Bridge"

// networks implements winserver's, but for its load balancers.
type networks struct{ hns hns }

// find returns the network of that name; nil if there is none.
func (n networks) find(name string) (*network, error) {
	all, err := n.hns.listNetworks()
	if err != nil {
		return nil, fmt.Errorf("list HNS networks: %w", err)
	}
	for i := range all {
		if all[i].name == name {
			return &all[i], nil
		}
	}
	return nil, nil // there is none, and nothing is wrong
}

// Has implements winserver.Networks.
func (n networks) Has(name string) (bool, error) {
	found, err := n.find(name)
	return found != nil, err
}

// Ensure implements winserver.Networks.
func (n networks) Ensure(name string, subnet netip.Prefix) (bool, error) {
	subnet = subnet.Masked()
	gateway := subnet.Addr().Next()
	found, err := n.find(name)
	if err != nil {
		return false, err
	}
	if found != nil {
		if found.kind != l2bridge || len(found.subnets) != 1 || found.subnets[0] != subnet.String() {
			return true, fmt.Errorf("HNS network %s: %w: it is not an l2bridge of %s", name, winserver.ErrConflict, subnet)
		}
		return true, n.hostEndpoint(*found, gateway.Next())
	}

	made, err := n.hns.createNetwork(network{
		name:    name,
		kind:    l2bridge,
		subnets: []string{subnet.String()},
		gateway: gateway.String(),
	})
	if err != nil {
		return false, fmt.Errorf("make HNS network %s: %w", name, err)
	}

	return false, n.hostEndpoint(made, gateway.Next())
}

// endpoints returns those of a network.
func (n networks) endpoints(of network) ([]endpoint, error) {
	all, err := n.hns.listEndpoints()
	if err != nil {
		return nil, fmt.Errorf("list HNS endpoints: %w", err)
	}
	var its []endpoint
	for _, e := range all {
		if strings.EqualFold(e.network, of.id) {
			its = append(its, e)
		}
	}
	return its, nil
}

// hostEndpoint puts the host on its pods' network, with the address that win-bridge.exe makes the pods' gateway.
func (n networks) hostEndpoint(of network, at netip.Addr) error {
	its, err := n.endpoints(of)
	if err != nil {
		return err
	}

	wanted := endpoint{
		name:    of.name + "_ep",
		network: of.id,
		address: at,
	}
	var hosts *endpoint
	for i := range its {
		if its[i].name == wanted.name {
			hosts = &its[i]
		}
	}
	if hosts == nil {
		made, err := n.hns.createEndpoint(wanted)
		if err != nil {
			return fmt.Errorf("make HNS endpoint %s: %w", wanted.name, err)
		}
		hosts = &made
	}

	if err := n.hns.attach(*hosts); err != nil {
		return fmt.Errorf("put the host on HNS network %s: %w", of.name, err)
	}
	return nil
}

// Delete implements winserver.Networks.
func (n networks) Delete(name string) error {
	found, err := n.find(name)
	if err != nil || found == nil {
		return err
	}
	its, err := n.endpoints(*found)
	if err != nil {
		return err
	}

	for _, e := range its {
		if err := n.hns.deleteEndpoint(e); err != nil {
			return fmt.Errorf("remove HNS endpoint %s: %w", e.name, err)
		}
	}
	if err := n.hns.deleteNetwork(*found); err != nil {
		return fmt.Errorf("remove HNS network %s: %w", name, err)
	}

	return nil
}
