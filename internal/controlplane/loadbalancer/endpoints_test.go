package loadbalancer

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

//nolint:staticcheck // deprecated, and what there is
func TestSliceOfEndpoints(t *testing.T) {
	one, two := "win-1", "win-2"
	object := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default",
			Name:      "web",
			Labels:    map[string]string{"app": "web"},
		},
		Subsets: []corev1.EndpointSubset{
			{
				Addresses:         []corev1.EndpointAddress{{IP: "10.244.1.4", NodeName: &one}, {IP: "10.244.9.9"}},
				NotReadyAddresses: []corev1.EndpointAddress{{IP: "10.244.2.3", NodeName: &two}},
			},
		},
	}

	nodes := map[string]netip.Addr{one: netip.MustParseAddr("10.213.0.11"), two: netip.MustParseAddr("10.213.0.12")}
	for name, tt := range map[string]struct {
		service string
		family  discoveryv1.AddressType
		want    map[string]netip.Addr
	}{
		"its own":         {"web", discoveryv1.AddressTypeIPv4, map[string]netip.Addr{one: nodes[one]}},
		"another service": {"other", discoveryv1.AddressTypeIPv4, map[string]netip.Addr{}},
		"another family":  {"web", discoveryv1.AddressTypeIPv6, map[string]netip.Addr{}},
	} {
		got, err := sliceOf(object)
		slice, ok := got.(*discoveryv1.EndpointSlice)
		if err != nil || !ok {
			t.Fatalf("got %T, %v", got, err)
		}

		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: tt.service}}
		local := withEndpoint(nodes, svc, tt.family, []*discoveryv1.EndpointSlice{slice})
		if diff := cmp.Diff(tt.want, local, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Errorf("%s: nodes (-want +got):\n%s", name, diff)
		}
		if again, err := sliceOf(slice); again != got || err != nil {
			t.Errorf("a slice becomes %v, %v", again, err)
		}
	}

	object.Subsets[0].Addresses = []corev1.EndpointAddress{{IP: "fd00::1", NodeName: &one}}
	if got, _ := sliceOf(object); got.(*discoveryv1.EndpointSlice).AddressType != discoveryv1.AddressTypeIPv6 {
		t.Errorf("the family of fd00::1: %+v", got)
	}
}
