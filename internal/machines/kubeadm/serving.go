package kubeadm

import (
	"context"
	"fmt"

	certv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// ServingError says that a kubelet waits for its serving certificate. If kubelet-config has serverTLSBootstrap,
// kubelets ask the cluster for their serving certificates, and nothing in a cluster of kubeadm's approves the requests
// automatically: https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-certs/#kubelet-serving-certs
type ServingError struct{ Node, Request string }

func (e *ServingError) Error() string {
	return fmt.Sprintf(
		"node %q waits for its serving certificate: its pods have no logs, exec and metrics until an administrator approves it: %s", e.Node, e.Command())
}

// Command returns what an administrator types to approve the request.
func (e *ServingError) Command() string { return "kubectl certificate approve " + e.Request }

// ServingRequest returns the newest undecided request of a node's kubelet for a serving certificate; nil if there is
// none. Nodes and administrators may read requests.
func ServingRequest(ctx context.Context, client kubeclient.Interface, node string) (*certv1.CertificateSigningRequest,
	error,
) {
	all, err := client.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.signerName", certv1.KubeletServingSignerName).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("look for the serving certificate of node %q: %w", node, err)
	}

	var newest *certv1.CertificateSigningRequest
	for i := range all.Items {
		r := &all.Items[i]
		if r.Spec.SignerName != certv1.KubeletServingSignerName || r.Spec.Username != "system:node:"+node ||
			len(r.Status.Conditions) > 0 {
			continue
		}
		if newest == nil || newest.CreationTimestamp.Before(&r.CreationTimestamp) {
			newest = r
		}
	}

	return newest, nil
}
