//go:build kernel

package controlplane_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/kubeclient/kubeclienttest"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/process/proc"
)

func TestControlPlane(t *testing.T) {
	p := newPlane(t)
	var once sync.Once
	stop := func() { once.Do(func() { p.stop(t) }) }
	t.Cleanup(stop)
	p.start(t)
	admin := p.client(t, p.config.Kubeconfig(pki.Admin()))

	t.Run("version", func(t *testing.T) {
		v, err := admin.ServerVersion(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("version %s", v.GitVersion)
	})
	t.Run("client", func(t *testing.T) { kubeclienttest.Suite(t, admin) })
	t.Run("rights", func(t *testing.T) { testRights(t, p, admin) })
	t.Run("own-addresses", func(t *testing.T) { testOwnAddresses(t, p, admin) })
	t.Run("own-ports", func(t *testing.T) { testOwnPorts(t, admin) })
	t.Run("service-accounts", func(t *testing.T) {
		eventually(t, "the default service account", func() error {
			_, err := admin.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
			return err
		})
	})

	t.Run("runtime-class", func(t *testing.T) {
		class, err := admin.NodeV1().RuntimeClasses().Get(t.Context(), "runhcs-wcow-hypervisor", metav1.GetOptions{})
		if err != nil || class.Handler != "runhcs-wcow-hypervisor" {
			t.Fatalf("got %+v, %v", class, err)
		}
	})
	t.Run("check-versions", func(t *testing.T) { testVersions(t, admin) })
	t.Run("check-policies", func(t *testing.T) { testPolicies(t, admin) })
	t.Run("dns", func(t *testing.T) { testDNS(t, p, admin) })
	t.Run("metrics", func(t *testing.T) { testMetrics(t, p, admin) })
	t.Run("gmsa", func(t *testing.T) { testGMSA(t, p, admin) })
	t.Run("join", func(t *testing.T) { testJoin(t, p, admin) })
	t.Run("machines", func(t *testing.T) { testMachines(t, p, admin) })
	t.Run("kill-etcd", func(t *testing.T) { testKill(t, p, admin, controlplane.Etcd) })
	t.Run("kill-kube-apiserver", func(t *testing.T) { testKill(t, p, admin, controlplane.APIServer) })
	t.Run("kill-kube-controller-manager", func(t *testing.T) { testKill(t, p, admin, controlplane.ControllerManager) })
	p.logCost(t)
	stop()

	t.Run("second-start", func(t *testing.T) {
		// What was stored is there, and the token on disk is used again.
		before, err := os.ReadFile(p.config.BootstrapKubeconfig())
		if err != nil {
			t.Fatal(err)
		}
		p.start(t)
		defer p.stop(t)

		if _, err := admin.CoreV1().Nodes().Get(t.Context(), "win-1", metav1.GetOptions{}); err != nil {
			t.Errorf("the node is not there any more: %v", err)
		}
		after, err := os.ReadFile(p.config.BootstrapKubeconfig())
		if err != nil || string(before) != string(after) {
			t.Errorf("the bootstrap kubeconfig was made anew (%v)", err)
		}
	})
}

// testRights checks that RBAC and the Node authorizer decide, not the absence of them.
func testRights(t *testing.T, p *plane, admin *kubeclient.Client) {
	t.Helper()
	if _, err := admin.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the administrator: %v", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", p.config.Kubeconfig(pki.Admin()))
	if err != nil {
		t.Fatal(err)
	}

	anonymous := p.clientFor(t, rest.AnonymousClientConfig(config))
	if _, err := anonymous.CoreV1().Pods("default").List(t.Context(),
		metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("anonymous lists pods: got %v, want forbidden", err)
	}

	eventually(t, "anonymous reads the signed cluster-info", func() error {
		info, err := anonymous.CoreV1().ConfigMaps("kube-public").Get(t.Context(), "cluster-info", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for key := range info.Data {
			if strings.HasPrefix(key, "jws-kubeconfig-") {
				return nil
			}
		}

		return fmt.Errorf("no signature in %v", info.Data)
	})

	approver := p.client(t, p.config.Kubeconfig(pki.ServingApprover()))
	if _, err := approver.CoreV1().Secrets("kube-system").List(t.Context(),
		metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the approver lists secrets: got %v, want forbidden", err)
	}

	bootstrap := p.client(t, p.config.BootstrapKubeconfig())
	if _, err := bootstrap.CoreV1().Pods("default").List(t.Context(),
		metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a bootstrap token lists pods: got %v, want forbidden", err)
	}
	review := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "x"},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"},
	}

	if _, err := bootstrap.RbacV1().ClusterRoleBindings().Create(t.Context(), review,
		metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a bootstrap token binds roles: got %v, want forbidden", err)
	}
}

// request asks a signer for a certificate of a node, for the usages that kubelets of the control plane's version ask it
// for, and returns the request's name and the key.
func (p *plane) request(t *testing.T, client kubeclient.Interface, node, signer string, sans x509.CertificateRequest) (
	name string, key *ecdsa.PrivateKey,
) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	usages := []certv1.KeyUsage{certv1.UsageDigitalSignature, certv1.UsageClientAuth}
	if signer == certv1.KubeletServingSignerName {
		usages = []certv1.KeyUsage{certv1.UsageDigitalSignature, certv1.UsageServerAuth}
	}

	if p.config.Version == old {
		usages = append(usages, certv1.UsageKeyEncipherment) // it approves no request without
	}

	sans.Subject = pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}
	der, err := x509.CreateCertificateRequest(rand.Reader, &sans, key)
	if err != nil {
		t.Fatal(err)
	}

	csr := &certv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: signer,
			Usages:     usages,
		},
	}

	made, err := client.CertificatesV1().CertificateSigningRequests().Create(t.Context(), csr, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Name, key
}

// issued waits for the certificate of a request.
func issued(t *testing.T, client kubeclient.Interface, name string) []byte {
	t.Helper()
	var cert []byte
	begin := time.Now()
	eventually(t, "a certificate", func() error {
		csr, err := client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if cert = csr.Status.Certificate; len(cert) == 0 {
			return fmt.Errorf("conditions: %v", csr.Status.Conditions)
		}
		return nil
	})
	t.Logf("certificate after %d ms", time.Since(begin).Milliseconds())

	return cert
}

// kubelet does what a kubelet does with the bootstrap kubeconfig, and returns a client by its certificate.
func (p *plane) kubelet(t *testing.T, admin *kubeclient.Client, node string) *kubeclient.Client {
	t.Helper()
	bootstrap := p.client(t, p.config.BootstrapKubeconfig())
	csr, key := p.request(t, bootstrap, node, certv1.KubeAPIServerClientKubeletSignerName, x509.CertificateRequest{})
	cert := issued(t, admin, csr)

	config, err := clientcmd.BuildConfigFromFlags("", p.config.BootstrapKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}

	config = rest.AnonymousClientConfig(config)
	config.CertData, config.KeyData = cert, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return p.clientFor(t, config)
}

// testJoin joins a node, up to its serving certificate.
func testJoin(t *testing.T, p *plane, admin *kubeclient.Client) {
	t.Helper()
	kubelet := p.kubelet(t, admin, "win-1")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "win-1"}}
	if _, err := kubelet.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatalf("register the node: %v", err)
	}

	other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "win-2"}}
	if _, err := kubelet.CoreV1().Nodes().Create(t.Context(), other,
		metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("one node registers another: got %v, want forbidden (NodeRestriction)", err)
	}

	eventually(t, "a pod subnet", func() error {
		n, err := admin.CoreV1().Nodes().Get(t.Context(), "win-1", metav1.GetOptions{})
		if err == nil && !strings.HasPrefix(n.Spec.PodCIDR, "10.244.") {
			err = fmt.Errorf("pod subnet %q", n.Spec.PodCIDR)
		}
		return err
	})

	own := x509.CertificateRequest{DNSNames: []string{"win-1"}, IPAddresses: []net.IP{net.ParseIP("10.213.0.11")}}
	stolen := x509.CertificateRequest{DNSNames: []string{"win-1"}, IPAddresses: []net.IP{net.ParseIP("10.213.0.1")}}
	theft, _ := p.request(t, kubelet, "win-1", certv1.KubeletServingSignerName, stolen)

	// Asked before the address is reported, as kubelets do: approved once it is.
	asked, _ := p.request(t, kubelet, "win-1", certv1.KubeletServingSignerName, own)
	const addresses = `{"status":{"addresses":[{"type":"InternalIP","address":"10.213.0.11"},
		{"type":"InternalIP","address":"10.213.0.1"},{"type":"Hostname","address":"win-1"}]}}`
	if _, err := kubelet.CoreV1().Nodes().Patch(t.Context(), "win-1", types.MergePatchType, []byte(addresses),
		metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}

	block, _ := pem.Decode(issued(t, admin, asked))
	got, err := x509.ParseCertificate(block.Bytes)
	if err != nil || got.VerifyHostname("10.213.0.11") != nil {
		t.Errorf("the serving certificate is not for the node's address: %v", err)
	}
	refused, err := admin.CertificatesV1().CertificateSigningRequests().Get(t.Context(), theft, metav1.GetOptions{})
	if err != nil || len(refused.Status.Conditions) > 0 || len(refused.Status.Certificate) > 0 {
		t.Errorf("the request for the API server's address: %+v, %v", refused.Status, err)
	}
}

// testKill kills a program and waits until the API works again and a controller does.
func testKill(t *testing.T, p *plane, admin *kubeclient.Client, name string) {
	t.Helper()
	process := p.process(t, name)
	before := process.State()
	begin := time.Now()
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	eventually(t, "a new process", func() error {
		if s := process.State(); s.Phase != proc.Running || s.PID == before.PID {
			return fmt.Errorf("state %+v", s)
		}
		return nil
	})
	t.Logf("running again after %d ms", time.Since(begin).Milliseconds())
	namespace := "after-" + name
	eventually(t, "a namespace can be made", func() error {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		_, err := admin.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
		return err
	})

	eventually(t, "the controller-manager fills the namespace", func() error {
		_, err := admin.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	t.Logf("works again after %d ms", time.Since(begin).Milliseconds())
}
