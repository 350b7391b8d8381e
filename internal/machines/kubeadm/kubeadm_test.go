package kubeadm_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/machines/kubeadm"
)

// cluster returns an API with kubeadm's ConfigMaps.
func cluster(clusterConfiguration, kubelet string) *fake.Clientset {
	object := func(name, key, text string) runtime.Object {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system"},
			Data:       map[string]string{key: text},
		}
	}
	return fake.NewClientset(object("kubeadm-config", "ClusterConfiguration", clusterConfiguration),
		object("kubelet-config", "kubelet", kubelet))
}

// What kind v0.30 and kubeadm 1.36 write, shortened.
const (
	kind = "apiVersion: kubeadm.k8s.io/v1beta3\nclusterName: kind\nkind: ClusterConfiguration\nnetworking:\n  dnsDomain: cluster.local\n  podSubnet: 10.244.0.0/16\n  serviceSubnet: 10.96.0.0/16\n"
	dual = "networking:\n  podSubnet: fd00:10:244::/56,10.244.0.0/16\n"
	dns  = "clusterDNS:\n- 10.96.0.10\nclusterDomain: example.org\nserverTLSBootstrap: true\n"
)

func TestRead(t *testing.T) {
	prefix := netip.MustParsePrefix
	for name, tt := range map[string]struct {
		conf, kubelet string
		want          kubeadm.Cluster
	}{
		"kind": {kind, dns, kubeadm.Cluster{
			Name:               "kind",
			Domain:             "example.org",
			Pods:               prefix("10.244.0.0/16"),
			Services:           prefix("10.96.0.0/16"),
			DNS:                netip.MustParseAddr("10.96.0.10"),
			ServerTLSBootstrap: true,
		}},
		"defaults": {dual, "clusterDNS: ['fd00::a']\n", kubeadm.Cluster{
			Name:     "kubernetes",
			Domain:   "cluster.local",
			Pods:     prefix("10.244.0.0/16"),
			Services: prefix("10.96.0.0/12"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := kubeadm.Read(t.Context(), cluster(tt.conf, tt.kubelet))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
				cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("Read() differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	forbidden := cluster(kind, dns)
	forbidden.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "kubeadm-config",
			errors.New("no"))
	})

	for name, tt := range map[string]struct {
		client *fake.Clientset
		want   error
		says   string
	}{
		"none":      {fake.NewClientset(), kubeadm.ErrNone, "kubeadm-config"},
		"forbidden": {forbidden, kubeadm.ErrNone, "forbidden"},
		"no_pods":   {cluster("networking: {}\n", dns), kubeadm.ErrNetwork, "has no podSubnet"},
		"ipv6": {
			cluster("networking: {podSubnet: 'fd00::/56'}\n", dns),
			kubeadm.ErrNetwork, "no IPv4 subnet",
		},
		"not_yaml":   {cluster("\t{", dns), nil, "read ClusterConfiguration"},
		"not_subnet": {cluster("networking: {podSubnet: pods}\n", dns), nil, "podSubnet"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := kubeadm.Read(t.Context(), tt.client)
			if err == nil || (tt.want != nil && !errors.Is(err, tt.want)) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Read() = %v, want %v and %q", err, tt.want, tt.says)
			}
		})
	}
}

func TestCheckNetwork(t *testing.T) {
	for name, tt := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"nothing_known":   {nil, ""},
		"flannel_host_gw": {map[string]string{"flannel.alpha.coreos.com/backend-type": "host-gw"}, ""},
		"flannel_vxlan": {
			map[string]string{"flannel.alpha.coreos.com/backend-type": "vxlan"},
			`flannel's backend is "vxlan"`,
		},
		"calico_bgp": {map[string]string{"projectcalico.org/IPv4Address": "192.0.2.1/24"}, ""},
		"calico_ipip": {
			map[string]string{"projectcalico.org/IPv4IPIPTunnelAddr": "10.244.1.1"},
			"Calico with IP in IP",
		},
		"calico_vxlan": {map[string]string{"projectcalico.org/IPv4VXLANTunnelAddr": "10.244.1.1"}, "Calico with VXLAN"},
	} {
		t.Run(name, func(t *testing.T) {
			err := kubeadm.CheckNetwork(&corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name:        "n",
				Annotations: tt.annotations,
			}})
			if (err == nil) != (tt.want == "") || (err != nil &&
				(!errors.Is(err, kubeadm.ErrNetwork) || !strings.Contains(err.Error(), tt.want))) {
				t.Errorf("CheckNetwork() = %v, want %q", err, tt.want)
			}
		})
	}
}
