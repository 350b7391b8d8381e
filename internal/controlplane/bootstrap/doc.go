// Package bootstrap owns what a fresh API needs before nodes can join it and people can use it: the rights of
// administrators, of new nodes and of the API server at kubelets, the cluster-info document, RuntimeClasses,
// the Service of the cluster's DNS, the resource metrics API and bootstrap tokens. It also owns the
// approval of kubelets' serving certificates, which upstream leaves to others. It does not run the API.
//
// All objects are put in place by server-side apply with a field manager of its own, so that it can be repeated and
// leaves alone what others add.
package bootstrap

// fieldManager is the name of the owner of the fields that are applied here.
const fieldManager = "mullion"
