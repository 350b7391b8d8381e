package local

import (
	"fmt"

	"github.com/Microsoft/hnslib"
	"github.com/Microsoft/hnslib/hcn"
)

// defaultCompartment is the host's own.
const defaultCompartment = 1

// firstAPI is this Windows' HNS.
type firstAPI struct{}

func (firstAPI) listNetworks() ([]network, error) {
	all, err := hnslib.HNSListNetworkRequest("GET", "", "")
	if err != nil {
		return nil, err
	}
	var found []network
	for i := range all {
		found = append(found, networkOf(&all[i]))
	}
	return found, nil
}

func networkOf(n *hnslib.HNSNetwork) network {
	is := network{
		id:   n.Id,
		name: n.Name,
		kind: n.Type,
	}
	for _, s := range n.Subnets {
		is.subnets = append(is.subnets, s.AddressPrefix)
	}
	return is
}

func (firstAPI) createNetwork(n network) (network, error) {
	made, err := (&hnslib.HNSNetwork{
		Name:    n.name,
		Type:    n.kind,
		Subnets: []hnslib.Subnet{{AddressPrefix: n.subnets[0], GatewayAddress: n.gateway}},
	}).Create()
	if err != nil {
		return network{}, err
	}
	return networkOf(made), nil
}

func (firstAPI) deleteNetwork(n network) error {
	_, err := (&hnslib.HNSNetwork{Id: n.id}).Delete()
	return err
}

func (firstAPI) listEndpoints() ([]endpoint, error) {
	all, err := hnslib.HNSListEndpointRequest()
	if err != nil {
		return nil, err
	}
	var found []endpoint
	for i := range all {
		found = append(found, endpointOf(&all[i]))
	}
	return found, nil
}

func endpointOf(e *hnslib.HNSEndpoint) endpoint {
	return endpoint{
		id:      e.Id,
		name:    e.Name,
		network: e.VirtualNetwork,
	}
}

func (firstAPI) createEndpoint(e endpoint) (endpoint, error) {
	made, err := (&hnslib.HNSEndpoint{
		Name:           e.name,
		VirtualNetwork: e.network,
		IPAddress:      e.address.AsSlice(),
		GatewayAddress: "0.0.0.0",
	}).Create()
	if err != nil {
		return endpoint{}, err
	}
	return endpointOf(made), nil
}

func (firstAPI) deleteEndpoint(e endpoint) error {
	_, err := (&hnslib.HNSEndpoint{Id: e.id}).Delete()
	return err
}

func (firstAPI) attach(e endpoint) error {
	return (&hnslib.HNSEndpoint{Id: e.id}).HostAttach(defaultCompartment)
}

// ClearServices implements winserver.Networks. kube-proxy.exe itself removes all load balancers when it starts
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/proxy/winkernel/hns.go, deleteAllHnsLoadBalancerPolicy).
func (networks) ClearServices() error {
	all, err := hcn.ListLoadBalancers()
	if err != nil {
		return fmt.Errorf("list HNS load balancers: %w", err)
	}
	for i := range all {
		if err := all[i].Delete(); err != nil && !hcn.IsNotFoundError(err) {
			return fmt.Errorf("remove HNS load balancer %s: %w", all[i].Id, err)
		}
	}
	return nil
}
