package podnet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/containernetworking/cni/libcni"

	"mullion.dev/mullion/internal/hns/hcn"
	"mullion.dev/mullion/internal/hns/wire"
	"mullion.dev/mullion/internal/spec"
)

// connect puts a pod on the network without a plugin: an endpoint with a free address, attached to the pod's namespace.
// Which addresses are taken HNS knows, so nothing else has to remember it.
func (n *Network) connect(ctx context.Context, _ *libcni.NetworkConfigList, namespace string, pod Pod) ([]netip.Addr, error) {
	n.mu.Lock() // no two pods choose the same address
	defer n.mu.Unlock()
	network, err := hcn.Find(ctx, n.cfg.HNS, hcn.Network, NetworkName(n.cfg.Mode))
	if err != nil {
		return nil, err
	}
	if network == "" {
		return nil, fmt.Errorf("HNS has no network %q", NetworkName(n.cfg.Mode))
	}
	endpoints, err := hcn.List[wire.Endpoint](ctx, n.cfg.HNS, hcn.Endpoint)
	if err != nil {
		return nil, err
	}
	ip, gateway, err := n.free(endpoints)
	if err != nil {
		return nil, err
	}
	e := wire.Endpoint{
		Name: pod.ID + "_" + NetworkName(n.cfg.Mode), IpConfigurations: []wire.IpConfig{{IpAddress: ip.String()}},
		Dns:           &wire.Dns{ServerList: pod.DNS.Servers, Search: pod.DNS.Searches, Options: pod.DNS.Options},
		Routes:        []wire.Route{{NextHop: gateway.String(), DestinationPrefix: "0.0.0.0/0"}},
		SchemaVersion: wire.SchemaVersion{Major: 2},
	}
	if e.Policies, err = portMappings(n.cfg.Mode, pod.Ports); err != nil {
		return nil, err
	}
	id, err := hcn.Create(ctx, n.cfg.HNS, hcn.Endpoint, network, e)
	if err != nil {
		return nil, err
	}
	err = hcn.Modify(ctx, n.cfg.HNS, hcn.Namespace, namespace, "Add", wire.ResourceEndpoint, wire.NamespaceModify{EndpointId: id})
	if err != nil {
		return nil, errors.Join(err, hcn.Delete(context.WithoutCancel(ctx), n.cfg.HNS, hcn.Endpoint, id))
	}
	return []netip.Addr{ip}, nil
}

// free is the lowest address of the host's range that no endpoint has, and the range's gateway.
func (n *Network) free(endpoints []wire.Endpoint) (ip, gateway netip.Addr, err error) {
	taken := map[netip.Addr]bool{}
	for _, e := range endpoints {
		for _, c := range e.IpConfigurations {
			if addr, err := netip.ParseAddr(c.IpAddress); err == nil {
				taken[addr] = true
			}
		}
	}
	gateway = n.cidr.Addr().Next()
	first, last, subnet := gateway.Next(), netip.Addr{}, n.cidr
	if n.cfg.Mode == spec.ModeTransparent {
		gateway, first, last, subnet = n.cfg.Shared.Gateway, n.cfg.Shared.First, n.cfg.Shared.Last, n.cfg.Shared.Subnet
	}
	for a := first; subnet.Contains(a) && subnet.Contains(a.Next()) && (!last.IsValid() || a.Compare(last) <= 0); a = a.Next() {
		if !taken[a] && a != gateway {
			return a, gateway, nil
		}
	}
	return ip, gateway, fmt.Errorf("no address of %s is free", subnet)
}

// portMappings are a pod's hostPorts as policies. On a transparent network the host is not in the packets' way.
func portMappings(mode spec.Mode, ports []PortMapping) ([]wire.Policy, error) {
	var all []wire.Policy
	for _, p := range ports {
		if p.HostPort <= 0 || mode != spec.ModeNAT {
			continue
		}
		protocol := map[string]uint32{"TCP": 6, "UDP": 17}[strings.ToUpper(p.Protocol)]
		mapping, err := hcn.Policy(wire.PolicyPortMapping, wire.PortMappingSetting{
			Protocol: protocol, InternalPort: uint16(p.ContainerPort), ExternalPort: uint16(p.HostPort), VIP: p.HostIP,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, mapping)
	}
	return all, nil
}

// disconnect removes a pod's endpoints.
func (n *Network) disconnect(ctx context.Context, pod Pod) error {
	ids, err := n.endpointsOf(ctx, pod)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, hcn.Delete(ctx, n.cfg.HNS, hcn.Endpoint, id))
	}
	return errors.Join(errs...)
}
