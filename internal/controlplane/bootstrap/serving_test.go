package bootstrap

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// good is a request as kubelet 1.36 makes it, in parts, so that a test can break any of them.
type good struct {
	csr     certv1.CertificateSigningRequest
	request x509.CertificateRequest
	node    corev1.Node
	policy  ServingPolicy
}

func newGood() *good {
	return &good{
		csr: certv1.CertificateSigningRequest{Spec: certv1.CertificateSigningRequestSpec{
			SignerName: certv1.KubeletServingSignerName,
			Username:   "system:node:win-1",
			Groups:     []string{"system:nodes", "system:authenticated"},
			Usages:     []certv1.KeyUsage{certv1.UsageDigitalSignature, certv1.UsageServerAuth},
		}},
		request: x509.CertificateRequest{
			Subject:     pkix.Name{CommonName: "system:node:win-1", Organization: []string{"system:nodes"}},
			DNSNames:    []string{"win-1"},
			IPAddresses: []net.IP{net.ParseIP("10.213.0.11")},
		},
		node: corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "win-1"},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: "10.213.0.11"},
				{Type: corev1.NodeInternalIP, Address: "10.213.0.1"},
				{Type: corev1.NodeInternalIP, Address: "192.0.2.1"},
				{Type: corev1.NodeHostName, Address: "kubernetes"},
			}},
		},
		policy: ServingPolicy{
			Networks: []netip.Prefix{netip.MustParsePrefix("10.213.0.0/24")},
			Reserved: []netip.Addr{netip.MustParseAddr("10.213.0.1")},
		},
	}
}

func TestCheck(t *testing.T) {
	ip := func(text string) func(*good) {
		return func(g *good) { g.request.IPAddresses = append(g.request.IPAddresses, net.ParseIP(text)) }
	}

	tests := []struct {
		name  string
		spoil func(*good)
		want  string // "" is approved
		later bool   // the refusal is errNotYet
	}{
		{name: "good", spoil: func(*good) {}},
		{
			name:  "rsa-usages",
			spoil: func(g *good) { g.csr.Spec.Usages = append(g.csr.Spec.Usages, certv1.UsageKeyEncipherment) },
		},
		{name: "address-only", spoil: func(g *good) { g.request.DNSNames = nil }},
		{name: "name-in-capitals", spoil: func(g *good) { g.request.DNSNames = []string{"WIN-1"} }},
		{name: "not-reported-yet", spoil: ip("10.213.0.12"), want: "has not reported", later: true},
		{name: "api-server", spoil: ip("10.213.0.1"), want: "is reserved"},
		{name: "outside", spoil: ip("192.0.2.1"), want: "in none of the networks"},
		{name: "mapped-address", spoil: ip("::ffff:10.213.0.1"), want: "is reserved"},
		{
			name:  "another-name",
			spoil: func(g *good) { g.request.DNSNames = append(g.request.DNSNames, "kubernetes") },
			want:  "not the node's name",
		},
		{
			name:  "nothing",
			spoil: func(g *good) { g.request.DNSNames, g.request.IPAddresses = nil, nil },
			want:  "no name or address",
		},
		{
			name:  "uri",
			spoil: func(g *good) { g.request.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} },
			want:  "URIs",
		},
		{
			name:  "client-usage",
			spoil: func(g *good) { g.csr.Spec.Usages = append(g.csr.Spec.Usages, certv1.UsageClientAuth) },
			want:  "client auth",
		},
		{
			name:  "no-server-usage",
			spoil: func(g *good) { g.csr.Spec.Usages = g.csr.Spec.Usages[:1] },
			want:  "is missing",
		},
		{
			name:  "for-another",
			spoil: func(g *good) { g.request.Subject.CommonName = "system:node:win-2" },
			want:  "would be for",
		},
		{
			name:  "for-masters",
			spoil: func(g *good) { g.request.Subject.Organization = []string{"system:masters"} },
			want:  "system:masters",
		},
		{
			name:  "by-another-node",
			spoil: func(g *good) { g.csr.Spec.Username = "system:node:win-2" },
			want:  `node "win-2"`,
		},
		{name: "by-a-person", spoil: func(g *good) { g.csr.Spec.Username = "jane" }, want: "is not a node"},
		{
			name:  "by-an-impostor",
			spoil: func(g *good) { g.csr.Spec.Groups = []string{"system:authenticated"} },
			want:  "not in the group",
		},
		{
			name:  "another-signer",
			spoil: func(g *good) { g.csr.Spec.SignerName = certv1.KubeAPIServerClientSignerName },
			want:  "not this approver's",
		},
		{name: "no-policy", spoil: func(g *good) { g.policy = ServingPolicy{}; ip("192.0.2.1")(g) }},
	}

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGood()
			tt.spoil(g)
			der, err := x509.CreateCertificateRequest(rand.Reader, &g.request, key)
			if err != nil {
				t.Fatal(err)
			}

			g.csr.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
			err = g.policy.Check(&g.csr, &g.node)
			if tt.want == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}

			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want a refusal with %q", err, tt.want)
			}
			if errors.Is(err, errNotYet) != tt.later {
				t.Errorf("may be lifted: got %v, want %v", !tt.later, tt.later)
			}
		})
	}

	t.Run("damaged", func(t *testing.T) {
		g := newGood()
		g.csr.Spec.Request = []byte("nothing")
		if err := g.policy.Check(&g.csr, &g.node); err == nil {
			t.Error("approved")
		}
	})
}

func TestRandomText(t *testing.T) {
	a, errA := randomText(16)
	b, errB := randomText(16)
	if errA != nil || errB != nil || len(a) != 16 || a == b ||
		strings.Trim(a, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		t.Errorf("got %q and %q, %v, %v", a, b, errA, errB)
	}
}
