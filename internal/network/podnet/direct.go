package podnet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/spec"
)

// direct connects pods by calls of HNS, without a plugin. HNS knows which addresses are taken, so no other record is
// needed.
type direct struct{ ranged }

// newDirect reads the ranges that SetRange of an earlier process wrote.
func newDirect(cfg Config) (*direct, error) {
	d := &direct{ranged: ranged{cfg: cfg}}
	data, err := os.ReadFile(d.rangePath())
	if errors.Is(err, os.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}

	var cidrs []netip.Prefix
	for part := range strings.SplitSeq(strings.TrimSpace(string(data)), ",") {
		p, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("read pod CIDR %q: %w", d.rangePath(), err)
		}
		cidrs = append(cidrs, p)
	}

	if d.held, err = pick(cidrs, cfg.DualStack); err != nil {
		return nil, fmt.Errorf("read pod CIDR %q: %w", d.rangePath(), err)
	}

	return d, nil
}

// rangePath returns the file of the ranges, which other connectors store in the CNI configuration.
func (d *direct) rangePath() string { return filepath.Join(d.cfg.CacheDir, "pod-cidr") }

// SetRange implements connector.
func (d *direct) SetRange(ctx context.Context, cidrs ...netip.Prefix) error {
	return d.set(ctx, cidrs, func(_ context.Context, r ranges) error {
		if err := os.MkdirAll(d.cfg.CacheDir, 0o755); err != nil {
			return err
		}
		return atomicfile.Write(d.rangePath(), []byte(r.String()+"\n"), 0o644)
	})
}

// Add implements connector: an endpoint with a free address of each family, attached to the pod's namespace. With dual
// stack the endpoint is the one that Microsoft's sdnbridge, a plugin in no public Go module, makes with its flag
// enableDualStack (https://github.com/microsoft/windows-container-networking/blob/b96345f/network/endpoint.go).
func (d *direct) Add(ctx context.Context, namespace string, pod Pod) ([]netip.Addr, error) {
	d.mu.Lock() // no two pods choose the same address
	defer d.mu.Unlock()

	network, err := hcn.Find(ctx, d.cfg.HNS, hcn.Network, NetworkName(d.cfg.Mode))
	if err != nil {
		return nil, err
	}
	if network == "" {
		return nil, fmt.Errorf("HNS has no network %q", NetworkName(d.cfg.Mode))
	}

	endpoints, err := hcn.List[wire.Endpoint](ctx, d.cfg.HNS, hcn.Endpoint)
	if err != nil {
		return nil, err
	}
	ips, gateways, err := d.free(endpoints)
	if err != nil {
		return nil, err
	}

	e := wire.Endpoint{
		Name: d.endpointName(pod),
		Dns: &wire.Dns{
			ServerList: pod.DNS.Servers,
			Search:     pod.DNS.Searches,
			Options:    pod.DNS.Options,
		},
		SchemaVersion: wire.SchemaVersion{Major: 2},
	}

	for i, ip := range ips {
		e.IpConfigurations = append(e.IpConfigurations, wire.IpConfig{IpAddress: ip.String()})
		e.Routes = append(e.Routes, defaultRoute(gateways[i]))
	}

	if e.Policies, err = d.policies(ips, pod.Ports); err != nil {
		return nil, err
	}

	id, err := hcn.Create(ctx, d.cfg.HNS, hcn.Endpoint, network, e)
	if err != nil {
		return nil, err
	}
	attached := wire.NamespaceModify{EndpointId: id}
	err = hcn.Modify(ctx, d.cfg.HNS, hcn.Namespace, namespace, "Add", wire.ResourceEndpoint, attached)
	if err != nil {
		return nil, errors.Join(err, hcn.Delete(context.WithoutCancel(ctx), d.cfg.HNS, hcn.Endpoint, id))
	}

	return ips, nil
}

// endpointName returns the name of a pod's endpoint, by which an endpoint that was never attached is found.
func (d *direct) endpointName(pod Pod) string { return pod.ID + "_" + NetworkName(d.cfg.Mode) }

// Del implements connector: it removes the pod's endpoints: those in its namespace, and one that a crash left before it
// was attached.
func (d *direct) Del(ctx context.Context, namespace string, pod Pod, there bool) error {
	if !there {
		return nil
	}
	ids, err := endpointsOf(ctx, d.cfg.HNS, namespace)
	if err != nil {
		return err
	}

	endpoints, err := hcn.List[wire.Endpoint](ctx, d.cfg.HNS, hcn.Endpoint)
	if err != nil {
		return err
	}

	for _, e := range endpoints {
		attached := slices.ContainsFunc(ids, func(id string) bool { return strings.EqualFold(id, e.ID) })
		if e.Name == d.endpointName(pod) && !attached {
			ids = append(ids, e.ID)
		}
	}

	var errs []error
	for _, id := range ids {
		errs = append(errs, hcn.Delete(ctx, d.cfg.HNS, hcn.Endpoint, id))
	}

	return errors.Join(errs...)
}

// free returns for each family the lowest address of the host's range that no endpoint has, and the range's gateway.
func (d *direct) free(endpoints []wire.Endpoint) (ips, gateways []netip.Addr, err error) {
	taken := map[netip.Addr]bool{}
	for _, e := range endpoints {
		for _, c := range e.IpConfigurations {
			if addr, err := netip.ParseAddr(c.IpAddress); err == nil {
				taken[addr] = true
			}
		}
	}

	for _, r := range d.shares() {
		i := r.First
		for ; r.Subnet.Contains(i) && (!r.Last.IsValid() || i.Compare(r.Last) <= 0); i = i.Next() {
			if !taken[i] && i != r.Gateway && (i.Is6() || r.Subnet.Contains(i.Next())) {
				break
			}
		}
		if !r.Subnet.Contains(i) || (r.Last.IsValid() && i.Compare(r.Last) > 0) {
			return nil, nil, fmt.Errorf("no address of %s is free", r.Subnet)
		}

		ips, gateways = append(ips, i), append(gateways, r.Gateway)
	}

	return ips, gateways, nil
}

// shares returns the ranges of pods' addresses, one of each family.
func (d *direct) shares() []Shared {
	if d.cfg.Mode == spec.ModeTransparent {
		return []Shared{d.cfg.Shared}
	}

	var all []Shared
	for _, cidr := range []netip.Prefix{d.held.four, d.held.six} {
		if !cidr.IsValid() {
			continue
		}
		r := Shared{
			Subnet:  cidr,
			Gateway: cidr.Addr().Next(),
			First:   cidr.Addr().Next().Next(),
		}

		if hasHostEndpoint(d.cfg.Mode) {
			r.Gateway, r.First = hostAddress(cidr), hostAddress(cidr).Next()
		}
		all = append(all, r)
	}

	return all
}

// policies returns the policies of a pod's endpoint: on a bridge the translation of what leaves the cluster, as
// win-bridge.exe's configuration has it, and hostPorts. On a transparent network the host is not in the packets' way.
func (d *direct) policies(ips []netip.Addr, ports []PortMapping) ([]wire.Policy, error) {
	var all []wire.Policy
	if hasHostEndpoint(d.cfg.Mode) {
		nat, err := hcn.Policy(wire.PolicyOutBoundNAT, wire.OutBoundNATSetting{Exceptions: d.cfg.exceptions()})
		if err != nil {
			return nil, err
		}
		all = append(all, nat)
	}

	if d.cfg.Mode == spec.ModeTransparent {
		return all, nil
	}

	for _, p := range ports {
		for _, ip := range ips {
			hostIP, err := netip.ParseAddr(p.HostIP)
			if p.HostPort <= 0 || (err == nil && !hostIP.IsUnspecified() && hostIP.Is6() != ip.Is6()) {
				continue
			}

			setting := wire.PortMappingSetting{
				Protocol:     map[string]uint32{"TCP": 6, "UDP": 17}[strings.ToUpper(p.Protocol)],
				InternalPort: uint16(p.ContainerPort),
				ExternalPort: uint16(p.HostPort),
				VIP:          p.HostIP,
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
