package join

import (
	"context"
	"errors"
	"fmt"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/spec"
)

// servingTimeout is how long a join waits for a kubelet to ask for its serving certificate.
const servingTimeout = 30 * time.Second

// approveServing approves the serving certificate of a node that an administrator's join has just added, if it is for
// that node alone.
func (j *joining) approveServing(ctx context.Context, node string) error {
	ctx, cancel := context.WithTimeout(ctx, servingTimeout)
	defer cancel()

	for {
		err := j.approveOnce(ctx, node)
		if err == nil || (!errors.Is(err, errNoRequest) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) &&
			ctx.Err() == nil) {
			return err
		}

		select {
		case <-ctx.Done():
			return nil // the end of the join says what is missing
		case <-time.After(askEvery):
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
func WaitingForServing(ctx context.Context, paths layout.Paths, c spec.Cluster) []*kubeadm.ServingError {
	if !c.Foreign() || !c.Join.Foreign.ServerTLSBootstrap {
		return nil
	}
	clients := cluster.NodeClients(paths, c)
	ctx, cancel := context.WithTimeout(ctx, servingTimeout)
	defer cancel()

	var waiting []*kubeadm.ServingError
	for _, name := range c.NodeNames() {
		unit := &parts.ServingCertificate{
			Node:     name,
			Identity: clients.Identities[name],
			Client:   func() (kubeclient.Interface, error) { return clients.Client(name) },
		}

		for {
			err := unit.Probe(ctx)
			if missing, ok := errors.AsType[*kubeadm.ServingError](err); ok {
				waiting = append(waiting, missing)
			}
			if err == nil || (len(waiting) > 0 && waiting[len(waiting)-1].Node == name) || ctx.Err() != nil {
				break
			}

			select {
			case <-ctx.Done():
			case <-time.After(askEvery):
			}
		}
	}

	return waiting
}
