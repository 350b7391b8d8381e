package parts

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
)

// The unit is ready when the kubelet has a certificate that can be used, also one that is written in two steps.
func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "kubelet-client-current.pem")
	if err := os.WriteFile(file, []byte("half of one"), 0o600); err != nil {
		t.Fatal(err)
	}

	i := &Identity{Identity: kubenode.Identity{Dir: dir}, Node: "win-1"}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	err := i.Start(over)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}

	says(t, err, `wait for the certificate of node "win-1"`, "read the kubelet's certificate")
	started := make(chan error, 1)
	go func() { started <- i.Start(t.Context()) }()
	certify(t, dir, "kubelet-client-2026.pem", time.Now().Add(time.Hour))
	// the link has a path of the kubelet's host, of which the name counts
	err = errors.Join(os.Remove(file), os.Symlink("/var/lib/kubelet/pki/kubelet-client-2026.pem", file))
	if err != nil {
		t.Fatal(err)
	}

	if err := <-started; err != nil {
		t.Error(err)
	}
	if i.ID() != component.OfNode("identity", "win-1") || i.Stop(t.Context()) != nil {
		t.Errorf("its name is %q", i.ID())
	}
}

// wants returns a request of a node's kubelet for a serving certificate, made that long ago.
func wants(name, node string, ago time.Duration) *certv1.CertificateSigningRequest {
	return &certv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-ago))},
		Spec: certv1.CertificateSigningRequestSpec{
			SignerName: certv1.KubeletServingSignerName,
			Username:   "system:node:" + node,
		},
	}
}

// While a kubelet has no certificate that is valid for long enough and its request waits, the probe names the request
// and what an administrator types. If the kubelet has one, the API is not asked.
func TestServingCertificate(t *testing.T) {
	const day = 24 * time.Hour
	decided := wants("decided", "win-1", 0)
	decided.Status.Conditions = []certv1.CertificateSigningRequestCondition{{Type: certv1.CertificateApproved}}
	waits := []runtime.Object{wants("old", "win-1", time.Hour), wants("new", "win-1", time.Minute), wants("far", "win-2", 0), decided}
	for name, tt := range map[string]struct {
		ends     time.Duration // of the certificate; 0: there is none
		requests []runtime.Object
		request  string // which waits
		says     string // another error
		asks     bool
	}{
		"has-one":           {ends: 30 * day, requests: waits},
		"waits":             {requests: waits, request: "new", asks: true},
		"has-not-asked":     {requests: []runtime.Object{decided}, says: "has not asked for one yet", asks: true},
		"ends-soon":         {ends: day, requests: waits, request: "new", asks: true},
		"ends-soon-unasked": {ends: day, asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			client, dir := fake.NewClientset(tt.requests...), t.TempDir()
			if tt.ends != 0 {
				certify(t, dir, "kubelet-server-current.pem", time.Now().Add(tt.ends))
			}
			s := &ServingCertificate{
				Node:     "win-1",
				Identity: kubenode.Identity{Dir: dir},
				Client:   always(client),
			}

			if err := s.Start(t.Context()); err != nil {
				t.Errorf("the node does not start without: %v", err)
			}

			err := s.Probe(t.Context())
			missing, waiting := errors.AsType[*kubeadm.ServingError](err)
			switch {
			case tt.request != "":
				if !waiting || missing.Request != tt.request || missing.Node != "win-1" {
					t.Errorf("got %v", err)
				}
				says(t, err, "kubectl certificate approve "+tt.request)
			case tt.says != "":
				says(t, err, tt.says, `"win-1"`)
			case err != nil:
				t.Errorf("got %v", err)
			}

			if asked := len(client.Actions()) > 0; asked != tt.asks {
				t.Errorf("the API was asked: %v", client.Actions())
			}
		})
	}
}

// If the API does not say whether a request waits, the probe returns that error.
func TestServingCertificateIsNotTold(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewServiceUnavailable("etcd has no leader")
	})

	s := &ServingCertificate{
		Node:     "win-1",
		Identity: kubenode.Identity{Dir: t.TempDir()},
		Client:   always(client),
	}
	says(t, s.Probe(t.Context()), `look for the serving certificate of node "win-1"`, "etcd has no leader")
	s.Client = never
	if err := s.Probe(t.Context()); !errors.Is(err, errNoClient) {
		t.Errorf("got %v", err)
	}
}
