// Package loadbalancer does for Services of type LoadBalancer what a cloud does: it gives them an address, and a route
// from the world outside to a node that serves it. Finalizer, status and events are those of upstream's service
// controller, which clouds have (k8s.io/cloud-provider); that one would link the clients of every group of Kubernetes.
// The package owns the choice of addresses and of nodes. It does not carry packets: Config.SetRoutes makes the routes,
// and on each node kube-proxy does the rest.
//
// The API objects are the only memory. Which addresses are taken is read from the Services' status; which node an
// address leads to is computed from nodes and EndpointSlices.
package loadbalancer
