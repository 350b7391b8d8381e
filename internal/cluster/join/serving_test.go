package join

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"

	certv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/spec"
)

// request returns what a node's kubelet asks for: a serving certificate for that name.
func request(t *testing.T, node, dns string) *certv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	user := "system:node:" + node
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: user, Organization: []string{"system:nodes"}},
		DNSNames: []string{dns},
	}, key)
	if err != nil {
		t.Fatal(err)
	}

	return &certv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "csr-of-" + node},
		Spec: certv1.CertificateSigningRequestSpec{
			SignerName: certv1.KubeletServingSignerName,
			Username:   user,
			Groups:     []string{"system:nodes", "system:authenticated"},
			Usages:     []certv1.KeyUsage{certv1.UsageDigitalSignature, certv1.UsageServerAuth},
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}
}

// approved reports whether a node's request is approved.
func approved(t *testing.T, a *api, node string) bool {
	t.Helper()
	got, err := a.CertificatesV1().CertificateSigningRequests().Get(t.Context(), "csr-of-"+node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(got.Status.Conditions) == 1 && got.Status.Conditions[0].Type == certv1.CertificateApproved
}

// The certificate of the node that joined is approved, and no other's.
func TestApproveServing(t *testing.T) {
	a := newAPI(t, node("win-1"), node("far"), request(t, "win-1", "win-1"), request(t, "far", "far"))
	j, _, _ := joins(t, a)
	if err := j.approveServing(t.Context(), "win-1"); err != nil {
		t.Fatal(err)
	}
	if !approved(t, a, "win-1") || approved(t, a, "far") {
		t.Errorf("approved: win-1 %v, far %v", approved(t, a, "win-1"), approved(t, a, "far"))
	}
}

// A node that asks for another's name gets nothing, and the join says so at once.
func TestApproveServingRefuses(t *testing.T) {
	a := newAPI(t, node("win-1"), request(t, "win-1", "kubernetes.default.svc"))
	j, _, _ := joins(t, a)
	says(t, j.approveServing(t.Context(), "win-1"), `approve the serving certificate of node "win-1"`,
		`"kubernetes.default.svc" is not the node's name`)
	if approved(t, a, "win-1") {
		t.Error("it is approved")
	}
}

// A request that is not there yet, and one that somebody else writes to at the same time, are tried again. Other errors
// are returned.
func TestApproveServingTriesAgain(t *testing.T) {
	csr := request(t, "win-1", "win-1")
	for name, first := range map[string]error{
		"not-yet":  nil,
		"conflict": apierrors.NewConflict(certv1.Resource("certificatesigningrequests"), csr.Name, nil),
		"gone":     apierrors.NewNotFound(certv1.Resource("certificatesigningrequests"), csr.Name),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, node("win-1"))
			if first != nil {
				if err := a.Tracker().Add(csr.DeepCopy()); err != nil {
					t.Fatal(err)
				}
			}

			tries := 0
			a.PrependReactor("list", "certificatesigningrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
				if tries++; tries == 2 && first == nil {
					return false, nil, a.Tracker().Add(csr.DeepCopy())
				}
				return false, nil, nil
			})

			a.PrependReactor("update", "certificatesigningrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
				return tries == 1, nil, first
			})
			j, _, _ := joins(t, a)
			if err := j.approveServing(t.Context(), "win-1"); err != nil || !approved(t, a, "win-1") || tries != 2 {
				t.Errorf("after %d tries: %v", tries, err)
			}
		})
	}

	a := newAPI(t, node("win-1"), csr)
	a.refuse("*", "update", "certificatesigningrequests", forbidden("certificatesigningrequests", csr.Name))
	j, _, _ := joins(t, a)
	says(t, j.approveServing(t.Context(), "win-1"), "you have no such right")
}

// A kubelet that does not ask in time does not make the join fail: at its end the join says what is missing.
func TestApproveServingOfKubeletThatDoesNotAsk(t *testing.T) {
	a := newAPI(t, node("win-1"))
	ctx, cancel := context.WithCancel(t.Context())
	a.PrependReactor("list", "certificatesigningrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		cancel()
		return false, nil, nil
	})
	j, _, _ := joins(t, a)
	if err := j.approveServing(ctx, "win-1"); err != nil {
		t.Errorf("got %v", err)
	}
}

// At its end a join names each request that waits for an administrator, once, with the command. It asks nothing if
// kubelets sign their certificates themselves.
func TestWaitingForServing(t *testing.T) {
	decided := request(t, "win-1", "win-1")
	decided.Name = "csr-decided"
	decided.Status.Conditions = []certv1.CertificateSigningRequestCondition{{Type: certv1.CertificateDenied}}
	a := newAPI(t, decided, request(t, "win-1", "win-1"), request(t, "win-2", "win-2"), request(t, "far", "far"))
	paths := a.joined(t, 0)
	c := spec.Cluster{
		Nodes: []spec.Node{{Name: "win-1"}, {Name: "win-2"}},
		Join:  &spec.Join{Server: a.url, Foreign: &spec.Foreign{}},
	}

	for name, id := range cluster.NodeClients(paths, c).Identities {
		certify(t, id.Dir, name)
	}

	if got := WaitingForServing(t.Context(), paths, c); len(got) > 0 || len(a.said("")) > 0 {
		t.Errorf("where kubelets sign themselves, %v wait; it asked %q", got, a.said(""))
	}
	c.Join.Foreign.ServerTLSBootstrap = true
	got := WaitingForServing(t.Context(), paths, c)
	if len(got) != 2 || got[0].Command() != "kubectl certificate approve csr-of-win-1" || got[1].Node != "win-2" {
		t.Errorf("%v wait", got)
	}

	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got := WaitingForServing(over, paths, c); len(got) > 0 {
		t.Errorf("when nobody waits any more, %v wait", got)
	}
}
