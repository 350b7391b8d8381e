package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/spec"
)

const (
	// servingTimeout is how long a join waits for a kubelet to ask for its serving certificate.
	servingTimeout = 30 * time.Second
	// servingEnd is how long before its certificate's end a kubelet has to have another; it asks much earlier.
	servingEnd = 7 * 24 * time.Hour
)

// servingUnit names the component that watches over a node's serving certificate.
func servingUnit(node string) string { return "serving-certificate/" + node }

// servingCertificate is the component that says what a kubelet waits for that asks the cluster for its serving
// certificate, in a cluster where nobody may approve such by himself.
type servingCertificate struct {
	node     string
	identity kubenode.Identity
	client   func() (kubernetes.Interface, error)
}

// Name is the component's name.
func (s *servingCertificate) Name() string { return servingUnit(s.node) }

// Start does nothing: the node is Ready without.
func (s *servingCertificate) Start(context.Context) error { return nil }

// Stop does nothing.
func (s *servingCertificate) Stop(context.Context) error { return nil }

// Probe implements component.Prober.
func (s *servingCertificate) Probe(ctx context.Context) error {
	cert, certErr := s.identity.Serving()
	if certErr == nil && time.Until(cert.NotAfter) > servingEnd {
		return nil
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	request, err := kubeadm.ServingRequest(ctx, client, s.node)
	switch {
	case err != nil:
		return err
	case request != nil:
		return &kubeadm.ServingError{Node: s.node, Request: request.Name}
	case certErr != nil:
		return fmt.Errorf("node %q has no serving certificate, and has not asked for one yet", s.node)
	}
	return nil
}

// serving adds servingCertificate for nodes of a cluster that Mullion did not create.
func (c *composer) serving(node string, i kubenode.Identity, kubelet string) {
	if c.Spec.Foreign() && !c.selfSigned() {
		c.add(&servingCertificate{
			node:     node,
			identity: i,
			client:   func() (kubernetes.Interface, error) { return c.nodeClient(node) },
		}, kubelet)
	}
}

// approveServing approves the serving certificate of a node that an administrator's join has just added, if it is for
// that node alone.
func (j *joining) approveServing(ctx context.Context, node string) error {
	ctx, cancel := context.WithTimeout(ctx, servingTimeout)
	defer cancel()
	for {
		err := j.approveOnce(ctx, node)
		if err == nil || !errors.Is(err, errNoRequest) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) &&
			ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil // the end of the join says what is missing
		case <-time.After(grantPause):
		}
	}
}

var errNoRequest = errors.New("the node has not asked for its serving certificate yet")

func (j *joining) approveOnce(ctx context.Context, node string) error {
	request, err := kubeadm.ServingRequest(ctx, j.client, node)
	if err != nil {
		return err
	}
	if request == nil {
		return errNoRequest
	}
	known, err := j.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read node %q: %w", node, err)
	}
	if err := (bootstrap.ServingPolicy{}).Check(request, known); err != nil {
		return fmt.Errorf("approve the serving certificate of node %q: %w", node, err)
	}
	request.Status.Conditions = append(request.Status.Conditions, certv1.CertificateSigningRequestCondition{
		Type:    certv1.CertificateApproved,
		Status:  corev1.ConditionTrue,
		Reason:  "MullionJoin",
		Message: "The administrator who joined the node by mullion join approves that it asks for its own name and addresses.",
	})
	_, err = j.client.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, request.Name, request,
		metav1.UpdateOptions{})
	return err
}

// WaitingForServing says which of the nodes of a machine that joined wait for serving certificates that an
// administrator has to approve.
func WaitingForServing(ctx context.Context, paths layout.Paths, s spec.Cluster) []*kubeadm.ServingError {
	if !s.Foreign() || !s.Join.Foreign.ServerTLSBootstrap {
		return nil
	}
	c, err := joinedNodes(s, paths)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, servingTimeout)
	defer cancel()
	var waiting []*kubeadm.ServingError
	for _, h := range c.Hosts {
		unit := &servingCertificate{
			node:     h.Name,
			identity: c.hostConfig(h, nil).Identity(),
			client:   func() (kubernetes.Interface, error) { return c.nodeClient(h.Name) },
		}
		for {
			err := unit.Probe(ctx)
			if missing, ok := errors.AsType[*kubeadm.ServingError](err); ok {
				waiting = append(waiting, missing)
			}
			if err == nil || len(waiting) > 0 && waiting[len(waiting)-1].Node == h.Name || ctx.Err() != nil {
				break
			}
			select {
			case <-ctx.Done():
			case <-time.After(grantPause):
			}
		}
	}
	return waiting
}
