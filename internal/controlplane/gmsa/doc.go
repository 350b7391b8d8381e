// Package gmsa owns group managed service accounts in the API: the kind GMSACredentialSpec, and the admission webhook
// that puts credential specs into pods and refuses those that a pod's service account may not use. It does as
// upstream's windows-gmsa does, by the same names:
// https://github.com/kubernetes-sigs/windows-gmsa/blob/master/admission-webhook/webhook.go
//
// It differs in three points. The API server asks only about pods that have a credential spec, so that all others can
// be created while nobody answers.
// A pod may have a credential spec without its object's name, as upstream's e2e test has
// it, unless the spec is of a domain for which the cluster's nodes have keys: then it has to be an object that the
// pod's service account may use. And a container that is added to a running pod gets the pod's account or none.
//
// The webhook listens on the loopback of the API server's network namespace and nowhere else.
package gmsa

import (
	"net"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// Names of the API; upstream's.
const (
	group    = "windows.k8s.io"
	resource = "gmsacredentialspecs"
	kind     = "GMSACredentialSpec"
	// webhookName names both configurations and their webhooks.
	webhookName = "admission-webhook.windows-gmsa.sigs.k8s.io"
	// disabled is the value of the namespace label optOut by which the webhook is not asked.
	optOut   = "gmsa-webhook"
	disabled = "disabled"
	// fieldManager owns the fields that are applied here.
	fieldManager = "mullion"
)

// Port is the webhook's, on the loopback.
const Port = 10271

// Unit is the name of the component.
const Unit = "gmsa-webhook"

// Config is what the webhook depends on.
type Config struct {
	// Client makes a client with the rights of an administrator.
	Client func() (kubeclient.Interface, error)
	// Listen opens the webhook's port where the API server reaches it.
	Listen func() (net.Listener, error)
	// CertFile and KeyFile are the webhook's certificate for 127.0.0.1, CAFile its authority's.
	CertFile, KeyFile, CAFile string
	// Domains are the DNS names of the domains for which the cluster's nodes have keys.
	Domains []string
	// Version is the API server's, "v1.20.15"; "" is the version that Mullion comes with.
	Version string
}
