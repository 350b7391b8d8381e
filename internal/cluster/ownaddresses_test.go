package cluster

import (
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
)

// A Service that has an address which the machine got later is told of; one whose addresses are its own is not.
func TestTellTaken(t *testing.T) {
	service := func(name string, addresses ...string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"},
			Spec:       corev1.ServiceSpec{ExternalIPs: addresses},
		}
	}

	client := fake.NewClientset(
		service("none"),
		service("own", "203.0.113.7", "10.213.0.225"),
		service("first", "203.0.113.7", "192.0.2.1"),
		service("second", "2001:DB8::1"),
		service("api", "10.213.0.1"),
	)

	prefixes := func(all ...string) (networks []netip.Prefix) {
		for _, p := range all {
			networks = append(networks, netip.MustParsePrefix(p))
		}
		return networks
	}

	own := bootstrap.OwnAddresses{
		API:   append(prefixes("10.213.0.1/32"), netip.Prefix{}),
		Nodes: prefixes("10.213.0.0/24", "192.0.2.1/32", "2001:db8::1/128"),
		Free:  prefixes("10.213.0.224/28"),
	}
	if err := tellTaken(t.Context(), client, own); err != nil {
		t.Fatal(err)
	}

	events, err := client.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}

	told := map[string]string{}
	for _, e := range events.Items {
		told[e.InvolvedObject.Name] = e.Message
		if e.Reason != AddressTaken || e.Type != corev1.EventTypeWarning {
			t.Errorf("the event is %+v", e)
		}
	}

	for name, address := range map[string]string{"first": "192.0.2.1", "second": "2001:DB8::1", "api": "10.213.0.1"} {
		if !strings.Contains(told[name], "externalIPs has "+address+",") {
			t.Errorf("%s is told %q", name, told[name])
		}
	}

	if len(told) != 3 {
		t.Errorf("told are %v", told)
	}
}
