package hns

import (
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

// Kind is a kind of object, as it stands in the functions' names and in the saved state.
type Kind string

// The kinds.
const (
	Networks             Kind = "Network"
	Endpoints            Kind = "Endpoint"
	Namespaces           Kind = "Namespace"
	LoadBalancers        Kind = "LoadBalancer"
	SdnRoutes            Kind = "SdnRoute"
	GuestNetworkServices Kind = "GuestNetworkService"
)

// makeTables makes the table of each kind, in the order in which the state is saved.
func (m *Model) makeTables() {
	m.networks = newTable(m, Networks, rules[network]{
		id:         func(n *network) string { return n.ID },
		taken:      wire.NetworkAlreadyExists,
		create:     m.createNetwork,
		modify:     m.modifyNetwork,
		remove:     m.deleteNetwork,
		shown:      func(n *network) any { return &n.Network },
		property:   networkProperty,
		candidates: m.networksOf,
		changed:    m.networkChanged,
		plan:       m.planNetwork,
		events:     networkEvents,
	})

	m.endpoints = newTable(m, Endpoints, rules[endpoint]{
		id:         func(e *endpoint) string { return e.ID },
		create:     m.createEndpoint,
		modify:     m.modifyEndpoint,
		remove:     func(id string) error { m.deleteEndpoint(id); return nil },
		shown:      func(e *endpoint) any { return m.shown(e) },
		property:   endpointProperty,
		candidates: m.endpointsOf,
		changed:    m.endpointChanged,
		plan:       m.planEndpoint,
		events:     endpointEvents,
	})

	m.namespaces = newTable(m, Namespaces, rules[namespace]{
		id:       func(n *namespace) string { return n.ID },
		create:   m.createNamespace,
		modify:   m.modifyNamespace,
		remove:   m.deleteNamespace,
		property: namespaceProperty,
		changed:  m.namespaceChanged,
		plan:     m.planNamespace,
		events:   namespaceEvents,
	})

	m.loadBalancers = newTable(m, LoadBalancers, rules[wire.LoadBalancer]{
		id:       func(lb *wire.LoadBalancer) string { return lb.ID },
		create:   m.createLoadBalancer,
		modify:   m.modifyLoadBalancer,
		property: loadBalancerProperty,
		changed:  m.loadBalancerChanged,
		plan:     func(lb *wire.LoadBalancer, p *netplan.Plan) { p.LoadBalancers = m.sparing(m.balancers(lb)) },
	})

	m.routes = newTable(m, SdnRoutes, rules[wire.SdnRoute]{ // in the plan, endpoints' ports have them
		id:       func(r *wire.SdnRoute) string { return r.ID },
		create:   m.createRoute,
		modify:   m.modifyRoute,
		property: routeProperty,
		changed:  m.routeChanged,
	})

	m.guests = newTable(m, GuestNetworkServices, rules[wire.GuestNetworkService]{
		id:       func(g *wire.GuestNetworkService) string { return g.ID },
		create:   m.createGuest,
		modify:   m.modifyGuest,
		property: guestProperty,
		events:   guestEvents,
	})
}
