// Package loadbalancer does for Services of type LoadBalancer what a cloud does: it gives them an address, and a route
// from the world outside to a node that serves it. Upstream's service controller (k8s.io/cloud-provider) decides when,
// keeps the finalizer, writes the status and the events; this package is its cloud. It owns the choice of addresses and
// of nodes. It does not carry packets: Config.SetRoutes makes the routes, and on each node kube-proxy does the rest.
//
// The API objects are the only memory. Which addresses are taken is read from the Services' status; which node an
// address leads to is computed from nodes and EndpointSlices.
package loadbalancer
