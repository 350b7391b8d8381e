package parts

import (
	"context"
	"fmt"
	"time"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
)

// servingEnd is how long before the end of its certificate a kubelet must have the next one; it asks much earlier.
const servingEnd = 7 * 24 * time.Hour

// ServingCertificate is the component that watches a kubelet's serving certificate, in a cluster where an administrator
// has to approve its request. Its probe fails while the request waits.
type ServingCertificate struct {
	Node     string
	Identity kubenode.Identity
	Client   func() (kubeclient.Interface, error)
}

// ID implements component.Component.
func (s *ServingCertificate) ID() component.ID {
	return component.OfNode("serving-certificate", s.Node)
}

// Start does nothing: the node is Ready without that certificate.
func (s *ServingCertificate) Start(context.Context) error { return nil }

// Stop does nothing.
func (s *ServingCertificate) Stop(context.Context) error { return nil }

// Probe implements component.Prober.
func (s *ServingCertificate) Probe(ctx context.Context) error {
	cert, certErr := s.Identity.Serving()
	if certErr == nil && time.Until(cert.NotAfter) > servingEnd {
		return nil
	}
	client, err := s.Client()
	if err != nil {
		return err
	}

	request, err := kubeadm.ServingRequest(ctx, client, s.Node)
	switch {
	case err != nil:
		return err
	case request != nil:
		return &kubeadm.ServingError{Node: s.Node, Request: request.Name}
	case certErr != nil:
		return fmt.Errorf("node %q has no serving certificate, and has not asked for one yet", s.Node)
	}

	return nil
}
