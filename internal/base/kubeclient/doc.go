// Package kubeclient owns the requests to a cluster's API: typed ones to the kinds of objects that Mullion uses,
// plain ones to any path, and events. It is a small clientset: methods have the names and parameters of client-go's,
// whose REST client sends the requests. client-go's own clientset links the types, clients, informers and apply
// configurations of every group of Kubernetes; this one links eleven groups, and its scheme is made when it is first
// used.
//
// Apply takes the object itself in place of an apply configuration: what is not set is not applied, nor is the status.
// Whoever follows objects gets an Informer of client-go's from their Resource. Tests have the package fake.
package kubeclient
