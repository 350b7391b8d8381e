package podnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/containernetworking/cni/libcni"

	"mullion.dev/mullion/internal/atomicfile"
	"mullion.dev/mullion/internal/hns"
	"mullion.dev/mullion/internal/hns/wire"
)

// SetPodCIDR makes the HNS network of that range, with the host on it, and writes the CNI configuration. Setting the same
// range again repairs what is missing; another range is refused while pods are connected.
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
	data, err := confList(cidr, n.cfg.Local)
	if err != nil {
		return err
	}
	conf, err := libcni.ConfListFromBytes(data)
	if err != nil {
		return err
	}
	if err := writeFile(n.confPath(), data); err != nil {
		return err
	}
	n.cidr, n.conf = cidr, conf
	return nil
}

// load takes up the configuration that is on the host's C:.
func (n *Network) load() error {
	data, err := os.ReadFile(n.confPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	conf, err := libcni.ConfListFromBytes(data)
	if err == nil {
		n.cidr, err = cidrOf(data)
	}
	if err != nil {
		return fmt.Errorf("read CNI configuration %q: %w", n.confPath(), err)
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

// ensureNetwork makes the HNS network and the endpoint that puts the host on it.
func (n *Network) ensureNetwork(ctx context.Context, cidr netip.Prefix) error {
	gateway, host := cidr.Addr().Next(), cidr.Addr().Next().Next()
	id, err := n.find(ctx, "Network", NetworkName)
	if err != nil {
		return err
	}
	if id != "" {
		var have wire.Network
		if err := n.query(ctx, "Network", id, &have); err != nil {
			return err
		}
		if len(have.Ipams) != 1 || len(have.Ipams[0].Subnets) != 1 || have.Ipams[0].Subnets[0].IpAddressPrefix != cidr.String() {
			if _, err := n.cfg.HNS.Call(ctx, hns.Request{Function: "HcnDeleteNetwork", Object: id}); err != nil {
				return fmt.Errorf("remove the network of the former range: %w", err)
			}
			id = ""
		}
	}
	if id == "" {
		id, err = n.create(ctx, "Network", "", wire.Network{
			Name: NetworkName, Type: wire.NetworkL2Bridge,
			Ipams: []wire.Ipam{{Type: "Static", Subnets: []wire.Subnet{{
				IpAddressPrefix: cidr.String(),
				Routes:          []wire.Route{{NextHop: gateway.String(), DestinationPrefix: "0.0.0.0/0"}},
			}}}},
		})
		if err != nil {
			return err
		}
	}
	return n.ensureHostEndpoint(ctx, id, host)
}

func (n *Network) ensureHostEndpoint(ctx context.Context, network string, host netip.Addr) error {
	const name = NetworkName + "_ep"
	id, err := n.find(ctx, "Endpoint", name)
	if err != nil {
		return err
	}
	if id == "" {
		id, err = n.create(ctx, "Endpoint", network, wire.Endpoint{
			Name:             name,
			IpConfigurations: []wire.IpConfig{{IpAddress: host.String()}},
			Routes:           []wire.Route{{NextHop: "0.0.0.0", DestinationPrefix: "0.0.0.0/0"}},
		})
		if err != nil {
			return err
		}
	}
	return n.v1(ctx, "POST", "/endpoints/"+id+"/attach", wire.V1Attach{SystemType: "Host", CompartmentId: 1}, nil)
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
	container, err := json.Marshal(wire.NamespaceModify{ContainerId: podID})
	if err != nil {
		return err
	}
	modify, err := json.Marshal(wire.Modify{ResourceType: wire.ResourceContainer, RequestType: "Add", Settings: container})
	if err != nil {
		return err
	}
	_, err = n.cfg.HNS.Call(ctx, hns.Request{Function: "HcnModifyNamespace", Object: id, Text: []string{string(modify)}})
	return err
}

func (n *Network) deleteNamespace(ctx context.Context, id string) error {
	_, err := n.cfg.HNS.Call(ctx, hns.Request{Function: "HcnDeleteNamespace", Object: id})
	if errors.Is(err, &wire.Error{Code: wire.ENotFound}) {
		return nil
	}
	return err
}

func (n *Network) exists(ctx context.Context, namespace string) bool {
	_, err := n.cfg.HNS.Call(ctx, hns.Request{Function: "HcnOpenNamespace", Object: namespace})
	return err == nil
}

// find is the ID of the object of that kind and name; empty when there is none.
func (n *Network) find(ctx context.Context, kind, name string) (string, error) {
	filter, err := json.Marshal(map[string]string{"Name": name})
	if err != nil {
		return "", err
	}
	query, err := json.Marshal(wire.Query{SchemaVersion: wire.SchemaVersion{Major: 2}, Filter: string(filter)})
	if err != nil {
		return "", err
	}
	reply, err := n.cfg.HNS.Call(ctx, hns.Request{Function: "HcnEnumerate" + kind + "s", Text: []string{string(query)}})
	if err != nil {
		return "", err
	}
	var ids []string
	if err := json.Unmarshal([]byte(reply.Text), &ids); err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

func (n *Network) query(ctx context.Context, kind, id string, v any) error {
	reply, err := n.cfg.HNS.Call(ctx, hns.Request{Function: "HcnQuery" + kind + "Properties", Object: id})
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(reply.Text), v)
}

func (n *Network) create(ctx context.Context, kind, parent string, v any) (string, error) {
	settings, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	reply, err := n.cfg.HNS.Call(ctx, hns.Request{Function: "HcnCreate" + kind, Object: parent, Text: []string{string(settings)}})
	return reply.Object, err
}

// v1 makes a call of HNS version 1.
func (n *Network) v1(ctx context.Context, method, path string, body, out any) error {
	text := []byte{}
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	reply, err := n.cfg.HNS.Call(ctx, hns.Request{Function: "HNSCall", Text: []string{method, path, string(text)}})
	if err != nil {
		return err
	}
	var envelope wire.V1Reply
	if err := json.Unmarshal([]byte(reply.Text), &envelope); err != nil {
		return err
	}
	if !envelope.Success {
		return wire.Errorf(wire.HRESULT(envelope.ErrorCode), "%s %s: %s", method, path, envelope.Error)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(envelope.Output, out)
}
