package hns

import (
	"net/netip"
	"strings"

	"mullion.dev/mullion/internal/network/hns/wire"
)

// lookups find objects by something other than their ID, so that no call goes through all objects.
type lookups struct {
	named     index[ref]    // networks and endpoints, by kind and name
	onNetwork index[string] // endpoints by network
	inSpace   index[string] // endpoints by namespace
	balancing index[string] // load balancers by endpoint
	routing   index[string] // routes by endpoint
	holding   index[string] // namespaces by container
	blocks    index[uint32] // load balancers with dynamic ports of their own, by protocol
	hosts     map[string]bool
	addrs     map[addrKey]string // endpoints by address
	macs      map[string]string  // local endpoints by hardware address
	fronts    map[front]string   // load balancers, and endpoints with port mappings, by what they listen on
}

type addrKey struct {
	network string
	remote  bool
	addr    netip.Addr
}

// front is what a load balancer listens on. An invalid addr means every address of the host of that family.
type front struct {
	addr     netip.Addr
	ipv6     bool
	protocol uint32
	port     uint16
}

func newLookups() lookups {
	return lookups{
		named:     index[ref]{},
		onNetwork: index[string]{},
		inSpace:   index[string]{},
		balancing: index[string]{},
		routing:   index[string]{},
		holding:   index[string]{},
		blocks:    index[uint32]{},
		hosts:     map[string]bool{},
		addrs:     map[addrKey]string{},
		macs:      map[string]string{},
		fronts:    map[front]string{},
	}
}

func (m *Model) networkChanged(id string, old, now *network) {
	if old != nil {
		m.named.remove(ref{Networks, old.Name}, id)
	}
	if now != nil {
		m.named.add(ref{Networks, now.Name}, id)
	}
	if old != nil && now != nil && encode(old.reaching()) != encode(now.reaching()) {
		for eid := range m.onNetwork[id] {
			m.dirty[ref{Endpoints, eid}] = true
		}
	}
}

func (m *Model) endpointChanged(id string, old, now *endpoint) {
	if old != nil {
		m.named.remove(ref{Endpoints, old.Name}, id)
		m.onNetwork.remove(old.HostComputeNetwork, id)
		m.inSpace.remove(old.HostComputeNamespace, id)
		for _, a := range old.addrs() {
			key := addrKey{old.HostComputeNetwork, old.remote(), a}
			if m.addrs[key] == id {
				delete(m.addrs, key)
			}
		}

		if !old.remote() {
			delete(m.macs, old.MacAddress)
		}
		m.leave(old.fronts(), id)
		m.dirtyHost(old)
	}

	if now != nil {
		m.named.add(ref{Endpoints, now.Name}, id)
		m.onNetwork.add(now.HostComputeNetwork, id)
		m.inSpace.add(now.HostComputeNamespace, id)
		for _, a := range now.addrs() {
			m.addrs[addrKey{now.HostComputeNetwork, now.remote(), a}] = id
		}

		if !now.remote() {
			m.macs[now.MacAddress] = id
		}
		m.take(now.fronts(), id)
		m.dirtyHost(now)
	}
}

// dirtyHost marks the network of an endpoint that is attached to the host: the endpoint is an address of its switch.
func (m *Model) dirtyHost(e *endpoint) {
	if m.hosts[e.HostComputeNamespace] {
		m.dirty[ref{Networks, e.HostComputeNetwork}] = true
	}
}

func (m *Model) namespaceChanged(id string, old, now *namespace) {
	if old != nil {
		delete(m.hosts, id)
		for _, c := range containers(old) {
			m.holding.remove(strings.ToLower(c), id)
		}
	}

	if now != nil {
		if now.Type == wire.NamespaceHostDefault {
			m.hosts[id] = true
		}
		for _, c := range containers(now) {
			m.holding.add(strings.ToLower(c), id)
		}
	}

	for eid := range m.inSpace[id] {
		delete(m.answers, ref{Endpoints, eid}) // it shows the namespace's containers
	}
}

func (m *Model) loadBalancerChanged(id string, old, now *wire.LoadBalancer) {
	if old != nil {
		for _, e := range old.HostComputeEndpoints {
			m.balancing.remove(e, id)
		}
		for _, p := range blocksOf(old) {
			m.blocks.remove(p, id)
		}
		m.leave(frontsOf(old), id)
	}

	if now != nil {
		for _, e := range now.HostComputeEndpoints {
			m.balancing.add(e, id)
		}
		for _, p := range blocksOf(now) {
			m.blocks.add(p, id)
		}
		m.take(frontsOf(now), id)
	}
}

func (m *Model) routeChanged(id string, old, now *wire.SdnRoute) {
	if old != nil {
		for _, e := range old.HostComputeEndpoints {
			m.routing.remove(e, id)
			m.dirty[ref{Endpoints, e}] = true
		}
	}

	if now != nil {
		for _, e := range now.HostComputeEndpoints {
			m.routing.add(e, id)
			m.dirty[ref{Endpoints, e}] = true
		}
	}
}

func (m *Model) take(fronts []front, owner string) {
	for _, f := range fronts {
		m.fronts[f] = owner
	}
}

func (m *Model) leave(fronts []front, owner string) {
	for _, f := range fronts {
		if m.fronts[f] == owner {
			delete(m.fronts, f)
		}
	}
}

// free refuses fronts that another owner listens on already.
func (m *Model) free(fronts []front, owner string) error {
	seen := make(map[front]bool, len(fronts))
	for _, f := range fronts {
		other, taken := m.fronts[f]
		if seen[f] {
			other, taken = owner+" itself", true
		}
		seen[f] = true
		if id := m.reservedFor(f); !taken && id != "" {
			other, taken = "reservation "+id, true
		}

		if taken && other != owner {
			at := "every address of the host"
			if f.addr.IsValid() {
				at = f.addr.String()
			}
			return wire.Errorf(wire.PortAlreadyExists, "protocol %d port %d on %s: %s has it", f.protocol, f.port, at,
				other)
		}
	}

	return nil
}
