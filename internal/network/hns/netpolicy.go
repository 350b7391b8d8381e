package hns

import (
	"crypto/sha256"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

// defaultVXLANPort is VXLAN's port by RFC 7348, which Windows uses unless VxlanPort names another.
const defaultVXLANPort = 4789

// networkPolicies is what the policies of a network mean for its switch.
type networkPolicies struct {
	adapter  string
	mac      string // of the host on the switch
	router   string // of the distributed router
	provider netip.Addr
	port     uint16
	peers    []netplan.Peer
	seen     map[string]bool // IDs of peers
}

// setPolicies reads the new policies of a network and stores them with it.
func (m *Model) setPolicies(n *network, policies []wire.Policy) error {
	p, err := m.readNetworkPolicies(n, policies)
	if err != nil {
		return err
	}

	n.Policies, n.Adapter = policies, p.adapter
	if n.Adapter == "" && n.Type != wire.NetworkNAT {
		if len(m.cfg.Adapters) == 0 {
			return wire.Errorf(wire.AdapterNotFound, "the host has no adapter")
		}
		n.Adapter = m.cfg.Adapters[0]
	}

	if n.Type == wire.NetworkOverlay && !p.provider.IsValid() {
		return wire.Errorf(wire.InvalidNetwork,
			"an overlay needs the policy ProviderAddress: the host's address is not known")
	}
	_, err = m.readPolicies(n, nil)
	return err
}

func (m *Model) readNetworkPolicies(n *network, policies []wire.Policy) (networkPolicies, error) {
	out := networkPolicies{port: defaultVXLANPort, seen: map[string]bool{}}
	for _, policy := range policies {
		if err := m.readNetworkPolicy(n, policy, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (m *Model) readNetworkPolicy(n *network, policy wire.Policy, out *networkPolicies) error {
	needs := map[string]feature{
		wire.PolicyRemoteSubnetRoute: remoteSubnets, wire.PolicyHostRoute: hostRoutes, wire.PolicyVxlanPort: vxlanPorts,
		wire.PolicySetPolicy: setPolicies, wire.PolicyNetworkACL: networkACLs, wire.PolicyL4Proxy: networkL4Proxy,
	}[policy.Type]
	if !m.has(needs) {
		return wire.Errorf(wire.InvalidPolicyType, "policy type %s needs a newer HNS than %d.%d",
			policy.Type, m.cfg.Version.Major, m.cfg.Version.Minor)
	}

	switch policy.Type {
	case wire.PolicyNetAdapterName, wire.PolicyInterfaceConstraint:
		return m.readAdapter(policy.Settings, out)
	case wire.PolicySourceMacAddress, wire.PolicyDrMacAddress:
		return readMAC(policy.Settings, out)
	case wire.PolicyProviderAddress, wire.PolicyVxlanPort:
		return readOverlay(policy.Settings, out)
	case wire.PolicyRemoteSubnetRoute:
		return readRemoteSubnet(n, policy.Settings, out)
	case wire.PolicySetPolicy:
		return m.readSet(policy.Settings)
	case wire.PolicyVSwitchExtension, wire.PolicyAutomaticDNS, wire.PolicyHostRoute, wire.PolicyLayerConstraint:
		_, err := setting[map[string]any](policy.Settings)
		return err

	case wire.PolicyNetworkACL, wire.PolicyL4Proxy: // readPolicies reads them
		return nil
	}

	return wire.Errorf(wire.InvalidPolicyType, "policy type %.64q of a network", policy.Type)
}

func (m *Model) readAdapter(raw json.RawMessage, out *networkPolicies) error {
	s, err := setting[struct {
		wire.NetAdapterNameSetting
		wire.InterfaceConstraintSetting
	}](raw)
	if err != nil {
		return err
	}

	name := s.NetworkAdapterName + s.InterfaceAlias
	if name == "" && s.InterfaceConstraintSetting == (wire.InterfaceConstraintSetting{}) {
		return nil
	}

	i := slices.IndexFunc(m.cfg.Adapters, func(a string) bool {
		return strings.EqualFold(a, name) || strings.EqualFold("vEthernet ("+a+")", name)
	})
	if i < 0 {
		return wire.Errorf(wire.AdapterNotFound, "adapter %.64q; the host has %q", name, m.cfg.Adapters)
	}
	out.adapter = m.cfg.Adapters[i]
	return nil
}

func readMAC(raw json.RawMessage, out *networkPolicies) error {
	s, err := setting[struct {
		wire.SourceMacAddressSetting
		wire.DrMacAddressSetting
	}](raw)
	if err != nil {
		return err
	}

	if s.SourceMacAddress != "" {
		out.mac, err = parseMAC(s.SourceMacAddress)
	}
	if s.Address != "" && err == nil {
		out.router, err = parseMAC(s.Address)
	}

	return err
}

func readOverlay(raw json.RawMessage, out *networkPolicies) error {
	s, err := setting[struct {
		wire.ProviderAddressSetting
		wire.VxlanPortSetting
	}](raw)
	if err != nil {
		return err
	}

	if s.Port != 0 {
		out.port = s.Port
	}
	if s.ProviderAddress != "" {
		out.provider, err = parseAddr(s.ProviderAddress)
	}
	return err
}

// readRemoteSubnet reads another host's subnet. A subnet cannot be behind two hosts.
func readRemoteSubnet(n *network, raw json.RawMessage, out *networkPolicies) error {
	s, err := setting[wire.RemoteSubnetRouteSetting](raw)
	if err != nil {
		return err
	}
	if n.Type != wire.NetworkOverlay {
		return wire.Errorf(wire.InvalidPolicy, "RemoteSubnetRoute on a network of type %s", n.Type)
	}

	prefix, ok := parseNetwork(s.DestinationPrefix)
	if !ok {
		return wire.Errorf(wire.InvalidPolicy, "subnet %.64q", s.DestinationPrefix)
	}

	vtep, err := parseAddr(s.ProviderAddress)
	if err != nil {
		return err
	}
	mac, err := parseMAC(s.DistributedRouterMacAddress)
	if err != nil {
		return err
	}

	if subnets := n.subnets(); len(subnets) > 0 && s.IsolationId != subnets[0].vsid {
		return wire.Errorf(wire.InvalidPolicy, "RemoteSubnetRoute of VSID %d on a network of VSID %d", s.IsolationId,
			subnets[0].vsid)
	}

	peer := netplan.Peer{
		ID:     n.ID + "/" + prefix.String(),
		Bridge: n.ID,
		Subnet: prefix,
		VTEP:   vtep,
		MAC:    linuxMAC(mac),
	}
	if out.seen[peer.ID] {
		return wire.Errorf(wire.PolicyAlreadyExists, "RemoteSubnetRoute to %s", prefix)
	}

	out.seen[peer.ID] = true
	out.peers = append(out.peers, peer)
	return nil
}

func (m *Model) readSet(raw json.RawMessage) error {
	s, err := setting[wire.SetPolicySetting](raw)
	switch {
	case err != nil:
		return err
	case s.Id == "" || len(list(s.Id)) != 1:
		return wire.Errorf(wire.InvalidPolicy, "SetPolicy with the Id %.64q", s.Id)
	case s.PolicyType == wire.SetOfSets && !m.has(nestedSets), s.PolicyType != wire.SetOfSets &&
		s.PolicyType != wire.SetOfAddresses:
		return wire.Errorf(wire.InvalidPolicy, "SetPolicy of type %.64q", s.PolicyType)
	case s.PolicyType == wire.SetOfSets:
		return nil
	}

	_, err = parseNetworks(list(s.Values))
	return err
}

// giveProvider adds what HNS itself chooses for an overlay and programs read back: the host's provider address and the
// hardware address of its distributed router.
func (m *Model) giveProvider(n *network) {
	has := func(t string) bool {
		return slices.ContainsFunc(n.Policies, func(p wire.Policy) bool { return p.Type == t })
	}
	if !has(wire.PolicyProviderAddress) && len(m.cfg.Addresses) > 0 {
		s := wire.ProviderAddressSetting{ProviderAddress: m.cfg.Addresses[0].String()}
		n.Policies = append(n.Policies, wire.Policy{
			Type:     wire.PolicyProviderAddress,
			Settings: json.RawMessage(encode(s)),
		})
	}

	if !has(wire.PolicyDrMacAddress) {
		sum := sha256.Sum256([]byte("router " + n.ID))
		s := wire.DrMacAddressSetting{Address: formatMAC([]byte{0x00, 0x15, 0x5d, sum[0], sum[1], sum[2]})}
		n.Policies = append(n.Policies, wire.Policy{
			Type:     wire.PolicyDrMacAddress,
			Settings: json.RawMessage(encode(s)),
		})
	}
}
