package dataplane

import (
	"maps"
	"net/netip"
	"slices"

	"mullion.dev/mullion/internal/network/netplan"
)

// state is a plan indexed by IDs.
type state struct {
	bridges    map[string]netplan.Bridge
	peers      map[string]map[string]netplan.Peer     // by bridge and ID
	peerBridge map[string]string                      // peer to bridge
	subnets    map[string]map[netip.Prefix]netip.Addr // by bridge: subnets of peers that are hosts, to the VTEP
	namespaces map[string]bool
	ports      map[string]netplan.Port
	balancers  map[string]netplan.LoadBalancer
	kept       map[string]netplan.LoadBalancer // those of balancers whose packets keep their destination
}

func newState(plan netplan.Plan) *state {
	s := &state{
		bridges:    map[string]netplan.Bridge{},
		peers:      map[string]map[string]netplan.Peer{},
		peerBridge: map[string]string{},
		subnets:    map[string]map[netip.Prefix]netip.Addr{},
		namespaces: map[string]bool{},
		ports:      map[string]netplan.Port{},
		balancers:  map[string]netplan.LoadBalancer{},
		kept:       map[string]netplan.LoadBalancer{},
	}
	s.change(netplan.Change{Set: plan})
	return s
}

func (s *state) change(c netplan.Change) {
	for _, id := range c.Removed.Bridges {
		delete(s.bridges, id)
	}

	for _, id := range c.Removed.Peers {
		s.dropPeer(id)
	}

	for _, id := range c.Removed.Namespaces {
		delete(s.namespaces, id)
	}

	for _, id := range c.Removed.Ports {
		delete(s.ports, id)
	}

	for _, id := range c.Removed.LoadBalancers {
		delete(s.balancers, id)
		delete(s.kept, id)
	}

	for _, b := range c.Set.Bridges {
		s.bridges[b.ID] = b
	}

	for _, p := range c.Set.Peers {
		s.dropPeer(p.ID)
		if s.peers[p.Bridge] == nil {
			s.peers[p.Bridge], s.subnets[p.Bridge] = map[string]netplan.Peer{}, map[netip.Prefix]netip.Addr{}
		}
		if !p.Subnet.IsSingleIP() {
			s.subnets[p.Bridge][p.Subnet.Masked()] = p.VTEP
		}
		s.peers[p.Bridge][p.ID], s.peerBridge[p.ID] = p, p.Bridge
	}

	for _, id := range c.Set.Namespaces {
		s.namespaces[id] = true
	}

	for _, p := range c.Set.Ports {
		s.ports[p.ID] = p
	}

	for _, lb := range c.Set.LoadBalancers {
		s.balancers[lb.ID] = lb
		delete(s.kept, lb.ID)
		if keeps(lb) {
			s.kept[lb.ID] = lb
		}
	}
}

func (s *state) dropPeer(id string) {
	bridge := s.peerBridge[id]
	if p := s.peers[bridge][id]; !p.Subnet.IsSingleIP() {
		delete(s.subnets[bridge], p.Subnet.Masked())
	}
	delete(s.peers[bridge], id)
	delete(s.peerBridge, id)
}

// behind reports whether a peer is a pod in the subnet of another peer, a host. Then the way to the host is also the
// way to the pod.
func (s *state) behind(p netplan.Peer) bool {
	if !p.Subnet.IsSingleIP() {
		return false
	}
	for bits := p.Subnet.Bits() - 1; bits > 0; bits-- {
		if host, err := p.Subnet.Addr().Prefix(bits); err == nil && s.subnets[p.Bridge][host] == p.VTEP &&
			p.VTEP.IsValid() {
			return true
		}
	}
	return false
}

// beside returns the ports of the pod of a port that are named before it. A pod's first is eth0, and most have no
// other.
func (s *state) beside(port netplan.Port) []netplan.Port {
	if port.Name == "eth0" {
		return nil
	}
	var others []netplan.Port
	for _, o := range s.ports {
		if o.Namespace == port.Namespace && o.Name < port.Name {
			others = append(others, o)
		}
	}
	return others
}

// peersChanged adds to found the overlays whose ways to peers change with c. It is called before the change is made,
// and after.
func (s *state) peersChanged(c netplan.Change, found map[string]bool) {
	for _, p := range c.Set.Peers {
		if !s.behind(p) {
			found[p.Bridge] = true
		}
	}

	ids := c.Removed.Peers
	for _, p := range c.Set.Peers {
		ids = append(slices.Clip(ids), p.ID)
	}

	for _, id := range ids {
		if p, ok := s.peers[s.peerBridge[id]][id]; ok && !s.behind(p) {
			found[p.Bridge] = true
		}
	}
}

// sorted returns a map's values in the order of their IDs.
func sorted[T any](m map[string]T) []T {
	all := make([]T, 0, len(m))
	for _, id := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[id])
	}
	return all
}

// portOf returns the port of a bridge that has a hardware address, one without ID if there is none.
func (s *state) portOf(bridge, mac string) netplan.Port {
	for _, p := range s.ports {
		if p.Bridge == bridge && p.MAC == mac {
			return p
		}
	}
	return netplan.Port{}
}
