package podnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containernetworking/cni/libcni"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/spec"
)

// SetPodCIDR makes the HNS network of that range and writes what connects pods to it; with dual stack a range of IPv6 comes
// second, and without, one that comes is left aside. Setting the same ranges again repairs what is missing; others are refused
// while pods are connected.
func (n *Network) SetPodCIDR(ctx context.Context, cidrs ...netip.Prefix) error {
	if n.cfg.Installed {
		return nil // whoever installs the plugin asks the API, as with containerd on Windows
	}
	cidr, six, err := n.families(cidrs)
	if err != nil {
		return fmt.Errorf("set pod CIDR %s: %w", spec.JoinSubnets(cidrs...), err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.ensureNetwork(ctx, cidr, six); err != nil {
		return fmt.Errorf("set pod CIDR %s: %w", spec.JoinSubnets(cidr, six), err)
	}
	if err := n.remember(ctx, cidr, six); err != nil {
		return fmt.Errorf("set pod CIDR %s: %w", spec.JoinSubnets(cidr, six), err)
	}
	n.cidr, n.six = cidr, six
	return nil
}

// families are the ranges of each family that the network is to have.
func (n *Network) families(cidrs []netip.Prefix) (cidr, six netip.Prefix, err error) {
	for _, p := range cidrs {
		switch {
		case p.Addr().Is4() && !cidr.IsValid():
			cidr = p.Masked()
		case p.Addr().Is6() && n.cfg.DualStack && !six.IsValid():
			six = p.Masked()
		}
	}
	switch {
	case !cidr.IsValid() || cidr.Bits() > 29:
		err = errors.New("not an IPv4 network of at least 8 addresses")
	case n.cfg.DualStack && (!six.IsValid() || six.Bits() > 125):
		err = errors.New("no IPv6 network of at least 8 addresses beside it, which a dual-stack node needs")
	}
	return cidr, six, err
}

// remember writes the CNI configuration, or where there is no plugin the range alone, from which load takes it up.
func (n *Network) remember(ctx context.Context, cidr, six netip.Prefix) error {
	if n.direct() {
		return writeFile(n.rangePath(), []byte(spec.JoinSubnets(cidr, six)+"\n"))
	}
	data, err := n.confList(cidr)
	if err != nil {
		return err
	}
	conf, err := libcni.ConfListFromBytes(data)
	if err != nil {
		return err
	}
	// The configuration is there last: pods' addresses are given out only when the host has its own.
	if n.cfg.Mode == spec.ModeOverlay {
		if err := n.ensureSourceVIP(ctx, cidr); err != nil {
			return err
		}
	}
	if err := writeFile(n.confPath(), data); err != nil {
		return err
	}
	n.conf = conf
	return nil
}

// load takes up what SetPodCIDR wrote in an earlier life.
func (n *Network) load() error {
	path := n.confPath()
	if n.direct() {
		path = n.rangePath()
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if n.direct() {
		return n.loadRanges(string(data))
	}
	conf, err := libcni.ConfListFromBytes(data)
	if err == nil {
		n.cidr, err = cidrOf(data)
	}
	if err != nil {
		return fmt.Errorf("read CNI configuration %q: %w", path, err)
	}
	n.conf = conf
	return nil
}

func (n *Network) loadRanges(text string) error {
	var cidrs []netip.Prefix
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		p, err := netip.ParsePrefix(part)
		if err != nil {
			return fmt.Errorf("read pod CIDR %q: %w", n.rangePath(), err)
		}
		cidrs = append(cidrs, p)
	}
	var err error
	n.cidr, n.six, err = n.families(cidrs)
	return err
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, data, 0o644)
}

// ensureNetwork makes the HNS network and, where the mode has one, the endpoint that puts the host on it.
func (n *Network) ensureNetwork(ctx context.Context, cidr, six netip.Prefix) error {
	want, err := n.wanted(cidr, six)
	if err != nil {
		return err
	}
	id, err := hcn.Find(ctx, n.cfg.HNS, hcn.Network, want.Name)
	if err != nil {
		return err
	}
	if id != "" {
		var have wire.Network
		if err := hcn.Query(ctx, n.cfg.HNS, hcn.Network, id, &have); err != nil {
			return err
		}
		if have.Type != want.Type || !slices.Equal(subnetsOf(have), subnetsOf(want)) {
			if err := hcn.Delete(ctx, n.cfg.HNS, hcn.Network, id); err != nil {
				return fmt.Errorf("remove the network of the former range: %w", err)
			}
			id = ""
		}
	}
	if id == "" {
		if id, err = hcn.Create(ctx, n.cfg.HNS, hcn.Network, "", want); err != nil {
			return fmt.Errorf("make HNS network %q: %w", want.Name, err)
		}
	}
	if !hasHostEndpoint(n.cfg.Mode) {
		return nil
	}
	host := []wire.IpConfig{{IpAddress: hostAddress(cidr).String()}}
	if six.IsValid() {
		host = append(host, wire.IpConfig{IpAddress: hostAddress(six).String()})
	}
	return n.ensureHostEndpoint(ctx, id, host)
}

// hostAddress is the host's own on its pods' network: the third, which win-bridge.exe makes the pods' gateway.
func hostAddress(cidr netip.Prefix) netip.Addr { return cidr.Addr().Next().Next() }

// subnetsOf are a network's subnets.
func subnetsOf(w wire.Network) []string {
	var all []string
	for _, ipam := range w.Ipams {
		for _, s := range ipam.Subnets {
			all = append(all, s.IpAddressPrefix)
		}
	}
	return all
}

func (n *Network) ensureHostEndpoint(ctx context.Context, network string, host []wire.IpConfig) error {
	name := NetworkName(n.cfg.Mode) + "_ep"
	id, err := hcn.Find(ctx, n.cfg.HNS, hcn.Endpoint, name)
	if err != nil {
		return err
	}
	if id == "" {
		id, err = hcn.Create(ctx, n.cfg.HNS, hcn.Endpoint, network, wire.Endpoint{
			Name:             name,
			IpConfigurations: host,
			Routes:           []wire.Route{{NextHop: "0.0.0.0", DestinationPrefix: "0.0.0.0/0"}},
		})
		if err != nil {
			return err
		}
	}
	return hcn.V1(ctx, n.cfg.HNS, "POST", "/endpoints/"+id+"/attach", wire.V1Attach{SystemType: "Host", CompartmentId: 1}, nil)
}

func (n *Network) createNamespace(ctx context.Context, id, podID string) error {
	settings, err := json.Marshal(wire.Namespace{Type: wire.NamespaceHost, SchemaVersion: wire.SchemaVersion{Major: 2}})
	if err != nil {
		return err
	}
	_, err = n.cfg.HNS.Call(ctx, hns.Request{Function: "HcnCreateNamespace", New: id, Text: []string{string(settings)}})
	if err != nil {
		return err
	}
	// The kubelet finds a pod's traffic by the containers that share its endpoint.
	return hcn.Modify(ctx, n.cfg.HNS, hcn.Namespace, id, "Add", wire.ResourceContainer, wire.NamespaceModify{ContainerId: podID})
}

func (n *Network) exists(ctx context.Context, namespace string) bool {
	_, err := n.cfg.HNS.Call(ctx, hns.Request{Function: "HcnOpenNamespace", Object: namespace})
	return err == nil
}
