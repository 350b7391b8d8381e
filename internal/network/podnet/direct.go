package podnet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/containernetworking/cni/libcni"

	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/spec"
)

// connect puts a pod on the network without a plugin: an endpoint with a free address of each family, attached to the pod's
// namespace. With dual stack the endpoint is the one that Microsoft's sdnbridge makes with its flag enableDualStack
// (https://github.com/microsoft/windows-container-networking/blob/b96345f/network/endpoint.go), a plugin in no public Go module.
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
	ips, gateways, err := n.free(endpoints)
	if err != nil {
		return nil, err
	}
	e := wire.Endpoint{
		Name:          pod.ID + "_" + NetworkName(n.cfg.Mode),
		Dns:           &wire.Dns{ServerList: pod.DNS.Servers, Search: pod.DNS.Searches, Options: pod.DNS.Options},
		SchemaVersion: wire.SchemaVersion{Major: 2},
	}
	for i, ip := range ips {
		e.IpConfigurations = append(e.IpConfigurations, wire.IpConfig{IpAddress: ip.String()})
		e.Routes = append(e.Routes, defaultRoute(gateways[i]))
	}
	if e.Policies, err = n.policies(ips, pod.Ports); err != nil {
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
	return ips, nil
}

// free are, of each family, the lowest address of the host's range that no endpoint has, and the range's gateway.
func (n *Network) free(endpoints []wire.Endpoint) (ips, gateways []netip.Addr, err error) {
	taken := map[netip.Addr]bool{}
	for _, e := range endpoints {
		for _, c := range e.IpConfigurations {
			if addr, err := netip.ParseAddr(c.IpAddress); err == nil {
				taken[addr] = true
			}
		}
	}
	for _, r := range n.ranges() {
		i := r.First
		for ; r.Subnet.Contains(i) && (!r.Last.IsValid() || i.Compare(r.Last) <= 0); i = i.Next() {
			if !taken[i] && i != r.Gateway && (i.Is6() || r.Subnet.Contains(i.Next())) {
				break
			}
		}
		if !r.Subnet.Contains(i) || r.Last.IsValid() && i.Compare(r.Last) > 0 {
			return nil, nil, fmt.Errorf("no address of %s is free", r.Subnet)
		}
		ips, gateways = append(ips, i), append(gateways, r.Gateway)
	}
	return ips, gateways, nil
}

// ranges are where pods' addresses are taken from, one of each family.
func (n *Network) ranges() []Shared {
	if n.cfg.Mode == spec.ModeTransparent {
		return []Shared{n.cfg.Shared}
	}
	var all []Shared
	for _, cidr := range []netip.Prefix{n.cidr, n.six} {
		if !cidr.IsValid() {
			continue
		}
		r := Shared{Subnet: cidr, Gateway: cidr.Addr().Next(), First: cidr.Addr().Next().Next()}
		if hasHostEndpoint(n.cfg.Mode) {
			r.Gateway, r.First = hostAddress(cidr), hostAddress(cidr).Next()
		}
		all = append(all, r)
	}
	return all
}

// policies are those of a pod's endpoint: on a bridge the translation of what leaves the cluster, as win-bridge.exe's
// configuration has it, and hostPorts. On a transparent network the host is not in the packets' way.
func (n *Network) policies(ips []netip.Addr, ports []PortMapping) ([]wire.Policy, error) {
	var all []wire.Policy
	if hasHostEndpoint(n.cfg.Mode) {
		nat, err := hcn.Policy(wire.PolicyOutBoundNAT, wire.OutBoundNATSetting{Exceptions: n.exceptions()})
		if err != nil {
			return nil, err
		}
		all = append(all, nat)
	}
	if n.cfg.Mode == spec.ModeTransparent {
		return all, nil
	}
	for _, p := range ports {
		for _, ip := range ips {
			hostIP, err := netip.ParseAddr(p.HostIP)
			if p.HostPort <= 0 || err == nil && !hostIP.IsUnspecified() && hostIP.Is6() != ip.Is6() {
				continue
			}
			setting := wire.PortMappingSetting{
				Protocol:     map[string]uint32{"TCP": 6, "UDP": 17}[strings.ToUpper(p.Protocol)],
				InternalPort: uint16(p.ContainerPort), ExternalPort: uint16(p.HostPort), VIP: p.HostIP,
			}
			if ip.Is6() {
				setting.Flags = wire.NATIPv6
			}
			mapping, err := hcn.Policy(wire.PolicyPortMapping, setting)
			if err != nil {
				return nil, err
			}
			all = append(all, mapping)
		}
	}
	return all, nil
}

// exceptions are the networks that pods reach with their own address.
func (n *Network) exceptions() []string {
	all := []string{}
	for _, p := range n.cfg.Local {
		all = append(all, p.String())
	}
	return all
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
