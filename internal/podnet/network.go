package podnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/libcni"

	"mullion.dev/mullion/internal/atomicfile"
	"mullion.dev/mullion/internal/hns"
	"mullion.dev/mullion/internal/hns/hcn"
	"mullion.dev/mullion/internal/hns/wire"
	"mullion.dev/mullion/internal/spec"
)

// SetPodCIDR makes the HNS network of that range and writes what connects pods to it. Setting the same range again repairs
// what is missing; another range is refused while pods are connected.
func (n *Network) SetPodCIDR(ctx context.Context, cidr netip.Prefix) error {
	cidr = cidr.Masked()
	if !cidr.IsValid() || !cidr.Addr().Is4() || cidr.Bits() > 29 {
		return fmt.Errorf("set pod CIDR %s: not an IPv4 network of at least 8 addresses", cidr)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.ensureNetwork(ctx, cidr); err != nil {
		return fmt.Errorf("set pod CIDR %s: %w", cidr, err)
	}
	if err := n.remember(ctx, cidr); err != nil {
		return fmt.Errorf("set pod CIDR %s: %w", cidr, err)
	}
	n.cidr = cidr
	return nil
}

// remember writes the CNI configuration, or where there is no plugin the range alone, from which load takes it up.
func (n *Network) remember(ctx context.Context, cidr netip.Prefix) error {
	if direct(n.cfg.Mode) {
		return writeFile(n.rangePath(), []byte(cidr.String()+"\n"))
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
	if direct(n.cfg.Mode) {
		path = n.rangePath()
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if direct(n.cfg.Mode) {
		n.cidr, err = netip.ParsePrefix(strings.TrimSpace(string(data)))
		return err
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

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, data, 0o644)
}

// ensureNetwork makes the HNS network and, where the mode has one, the endpoint that puts the host on it.
func (n *Network) ensureNetwork(ctx context.Context, cidr netip.Prefix) error {
	want, err := n.wanted(cidr)
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
		if have.Type != want.Type || subnetOf(have) != subnetOf(want) {
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
	return n.ensureHostEndpoint(ctx, id, cidr.Addr().Next().Next())
}

// subnetOf is a network's first subnet.
func subnetOf(w wire.Network) string {
	if len(w.Ipams) == 0 || len(w.Ipams[0].Subnets) == 0 {
		return ""
	}
	return w.Ipams[0].Subnets[0].IpAddressPrefix
}

func (n *Network) ensureHostEndpoint(ctx context.Context, network string, host netip.Addr) error {
	name := NetworkName(n.cfg.Mode) + "_ep"
	id, err := hcn.Find(ctx, n.cfg.HNS, hcn.Endpoint, name)
	if err != nil {
		return err
	}
	if id == "" {
		id, err = hcn.Create(ctx, n.cfg.HNS, hcn.Endpoint, network, wire.Endpoint{
			Name:             name,
			IpConfigurations: []wire.IpConfig{{IpAddress: host.String()}},
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
