//go:build kernel

package controlplane_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// testOwnAddresses creates Services that would stand between the pods and the API server or another Service.
func testOwnAddresses(t *testing.T, p *plane, admin *kubeclient.Client) {
	t.Helper()
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	service := func(addresses ...string) error {
		_, err := admin.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "between"},
			Spec: corev1.ServiceSpec{
				Ports:       []corev1.ServicePort{{Port: 6443}},
				ExternalIPs: addresses,
			},
		}, dry)
		return err
	}

	const refused = "cannot be a Service's external addresses"
	api := p.config.Address.Addr().String()
	eventually(t, "the policy", func() error {
		if err := service("203.0.113.7", api); err == nil || !strings.Contains(err.Error(), refused) {
			return fmt.Errorf("the API server's address %s: %w", api, err)
		}
		return nil
	})

	first := p.config.ServiceSubnet.Masked().Addr().Next().String()
	for _, address := range []string{first, "0" + first, "::ffff:" + api} {
		if err := service(address); err == nil {
			t.Errorf("%s is permitted", address)
		}
	}

	// Those of nodes, pods and the machine's interfaces, but not of a load balancer's pool.
	for _, address := range []string{
		"10.213.0.11", "10.213.0.254", "10.244.1.7", "172.17.0.1", "172.17.1.249", "2001:db8:17::1", "2001:DB8:17:0::1",
	} {
		err := service("203.0.113.7", address)
		if err == nil || !strings.Contains(err.Error(), "cannot be a Service's externalIPs") {
			t.Errorf("%s: %v", address, err)
		}
	}

	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("198.51.100.%d", i))
	}

	for _, addresses := range [][]string{
		nil, {"203.0.113.7"}, {"2001:db8::7"}, {"10.213.0.225"}, {"172.17.9.1"}, {"2001:db8:17::2"}, many,
	} {
		if err := service(addresses...); err != nil {
			t.Errorf("%v: %v", addresses, err)
		}
	}

	made, err := admin.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "balanced"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 6443}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		ingress corev1.LoadBalancerIngress
		want    bool
	}{
		{corev1.LoadBalancerIngress{IP: api}, false},
		{corev1.LoadBalancerIngress{IP: "203.0.113.7"}, true},
		{corev1.LoadBalancerIngress{IP: "10.213.0.11"}, true},
		{corev1.LoadBalancerIngress{Hostname: "balancer.example"}, true},
	} {
		made.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{tt.ingress}
		_, err := admin.CoreV1().Services("default").UpdateStatus(t.Context(), made,
			metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		if got := err == nil; got != tt.want || (err != nil && !strings.Contains(err.Error(), refused)) {
			t.Errorf("ingress %+v: %v", tt.ingress, err)
		}
	}

	if err := admin.CoreV1().Services("default").Delete(t.Context(), "balanced", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}
