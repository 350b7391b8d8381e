package hns

import (
	"encoding/json"
	"net/netip"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

func (p *portPolicies) accessRule(raw json.RawMessage) error {
	s, err := setting[wire.ACLSetting](raw)
	if err != nil {
		return err
	}
	if s.RuleType != "" && s.RuleType != wire.RuleHost && s.RuleType != wire.RuleSwitch {
		return wire.Errorf(wire.InvalidPolicy, "rule type %.64q", s.RuleType)
	}

	if s.Action == wire.ActionPass {
		return wire.Errorf(wire.InvalidPolicy, "action %s is for tiers", s.Action)
	}

	return p.rule(s.Action, s.Direction, netplan.ACL{
		Host:     s.RuleType == wire.RuleHost,
		Priority: s.Priority,
	}, wire.FiveTuple{
		Protocols:       s.Protocols,
		LocalAddresses:  s.LocalAddresses,
		RemoteAddresses: s.RemoteAddresses,
		LocalPorts:      s.LocalPorts,
		RemotePorts:     s.RemotePorts,
	})
}

func (p *portPolicies) tier(raw json.RawMessage) error {
	s, err := setting[wire.TierACLSetting](raw)
	if err != nil {
		return err
	}
	if s.Direction != wire.DirectionIn && s.Direction != wire.DirectionOut {
		return wire.Errorf(wire.InvalidPolicy, "direction %.64q of tier %.64q", s.Direction, s.Name)
	}

	for _, r := range s.TierAclRules {
		err := p.rule(r.TierAclRuleAction, s.Direction, netplan.ACL{
			Tier:     s.Order,
			Priority: r.Priority,
		}, wire.FiveTuple{
			Protocols:       r.Protocols,
			LocalAddresses:  r.LocalAddresses,
			RemoteAddresses: r.RemoteAddresses,
			LocalPorts:      r.LocalPorts,
			RemotePorts:     r.RemotePorts,
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// rule adds an access rule: one for each protocol that it names.
func (p *portPolicies) rule(action, direction string, base netplan.ACL, match wire.FiveTuple) error {
	switch action {
	case wire.ActionAllow:
	case wire.ActionBlock:
		base.Block = true
	case wire.ActionPass:
		base.Pass = true
	default:
		return wire.Errorf(wire.InvalidPolicy, "action %.64q", action)
	}

	if direction != wire.DirectionIn && direction != wire.DirectionOut {
		return wire.Errorf(wire.InvalidPolicy, "direction %.64q", direction)
	}

	base.In = direction == wire.DirectionIn
	var err error
	if base.LocalPorts, err = parsePorts(match.LocalPorts); err != nil {
		return err
	}
	if base.RemotePorts, err = parsePorts(match.RemotePorts); err != nil {
		return err
	}

	protocols, err := parseProtocols(match.Protocols, len(base.LocalPorts)+len(base.RemotePorts) > 0)
	if err != nil {
		return err
	}

	var never [2]bool
	if base.Local, never[0], err = p.addresses(match.LocalAddresses); err != nil {
		return err
	}
	if base.Remote, never[1], err = p.addresses(match.RemoteAddresses); err != nil {
		return err
	}

	if never[0] || never[1] {
		return nil
	}

	for _, protocol := range protocols {
		r := base
		r.Protocol = protocol
		p.acl = append(p.acl, r)
	}

	return nil
}

// anyProtocol is the number with which HNS itself means every protocol.
const anyProtocol = 256

func parseProtocols(s string, ports bool) ([]netplan.Protocol, error) {
	var all []netplan.Protocol
	for _, item := range list(s) {
		n, err := strconv.ParseUint(item, 10, 16)
		if err != nil || n > anyProtocol {
			return nil, wire.Errorf(wire.InvalidPolicy, "protocol %.64q", item)
		}
		if n == anyProtocol {
			n = 0
		}

		protocol := netplan.Protocol(n)
		if ports && protocol != 0 && protocol != netplan.TCP && protocol != netplan.UDP {
			return nil, wire.Errorf(wire.InvalidPolicy, "protocol %d has no ports", protocol)
		}
		all = append(all, protocol)
	}

	if len(all) == 0 {
		all = append(all, 0)
	}
	if ports && len(all) == 1 && all[0] == 0 {
		all = []netplan.Protocol{netplan.TCP, netplan.UDP}
	}

	return all, nil
}

// maxExpanded is how many addresses all sets in the rules of one endpoint may have together.
const maxExpanded = 1 << 16

// addresses reads a list of addresses, networks and IDs of sets. An empty list means every address. never is true if
// the list has items but no addresses, because all of its sets are empty: then the rule matches nothing.
func (p *portPolicies) addresses(s string) (all []netip.Prefix, never bool, err error) {
	items := list(s)
	for _, item := range items {
		if found, ok := parseNetwork(item); ok {
			all = append(all, found)
			continue
		}
		if p.sets == nil {
			p.sets = p.network.sets()
		}

		members, ok := p.members(strings.ToLower(item), map[string]bool{})
		if !ok {
			return nil, false, wire.Errorf(wire.InvalidPolicy,
				"%.64q is neither address nor network nor the Id of a set", item)
		}
		if p.expanded += len(members); p.expanded > maxExpanded {
			return nil, false, wire.Errorf(wire.InvalidPolicy, "sets with more than %d addresses together", maxExpanded)
		}
		all = append(all, members...)
	}

	return all, len(items) > 0 && len(all) == 0, nil
}

// members returns the addresses of a set and of the sets in it. A set that contains itself adds nothing.
func (p *portPolicies) members(id string, seen map[string]bool) ([]netip.Prefix, bool) {
	s, ok := p.sets[id]
	if !ok || seen[id] {
		return nil, ok
	}

	seen[id] = true
	var all []netip.Prefix
	for _, item := range list(s.Values) {
		if s.PolicyType == wire.SetOfSets {
			members, _ := p.members(strings.ToLower(item), seen)
			all = append(all, members...)
		} else if found, ok := parseNetwork(item); ok {
			all = append(all, found)
		}
	}

	return all, true
}

// sets returns the network's named lists of addresses, by their IDs in lower case.
func (n *network) sets() map[string]wire.SetPolicySetting {
	all := map[string]wire.SetPolicySetting{}
	for _, policy := range n.Policies {
		if policy.Type != wire.PolicySetPolicy {
			continue
		}
		if s, err := setting[wire.SetPolicySetting](policy.Settings); err == nil {
			all[strings.ToLower(s.Id)] = s
		}
	}
	return all
}

// portPolicies returns the network's policies that apply to every endpoint on it.
func (n *network) portPolicies() []wire.Policy {
	var all []wire.Policy
	for _, p := range n.Policies {
		if p.Type == wire.PolicyNetworkACL || p.Type == wire.PolicyL4Proxy {
			all = append(all, p)
		}
	}
	return all
}

// reaching returns the network's policies that affect its endpoints' ports: portPolicies, and the sets that they name.
func (n *network) reaching() []wire.Policy {
	all := n.portPolicies()
	for _, p := range n.Policies {
		if p.Type == wire.PolicySetPolicy {
			all = append(all, p)
		}
	}
	return all
}

// list splits at commas and blanks.
func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}
