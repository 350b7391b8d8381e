package bootstrap

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	discoveryapply "k8s.io/client-go/applyconfigurations/discovery/v1"
	rbacapply "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"

	"mullion.dev/mullion/internal/controlplane/pki"
)

// DNS is the cluster's DNS server, which does not run in a pod.
type DNS struct {
	// ClusterIP is the address of the Service, Address the address of the server; the zero value: there is no server.
	ClusterIP, Address netip.Addr
	// Port is for queries, UDP and TCP; MetricsPort is Prometheus'.
	Port, MetricsPort int32
}

// dnsService is the Service's name, which programs know:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubeadm/app/phases/addons/dns/manifests.go
const dnsService = "kube-dns"

// dnsGrant is CoreDNS's right to read what it needs: kubeadm's role for it, bound to a user, because without a pod it
// has no service account's token.
func dnsGrant() grant {
	return grant{
		name:    "system:coredns",
		role:    "system:coredns",
		subject: user(pki.CoreDNS().Name),
		rules: []*rbacapply.PolicyRuleApplyConfiguration{
			rule("", "services", "list", "watch").WithResources("pods", "namespaces", "endpoints"),
			rule("discovery.k8s.io", "endpointslices", "list", "watch"),
		},
	}
}

// ports are the ports in the form of a Service.
func (d DNS) ports() []corev1.ServicePort {
	return []corev1.ServicePort{
		{Name: "dns", Protocol: corev1.ProtocolUDP, Port: d.Port},
		{Name: "dns-tcp", Protocol: corev1.ProtocolTCP, Port: d.Port},
		{Name: "metrics", Protocol: corev1.ProtocolTCP, Port: d.MetricsPort},
	}
}

// apply puts the Service and its one endpoint in place. The Service has no selector, so nothing else makes endpoints
// for it.
func (d DNS) apply(ctx context.Context, client kubernetes.Interface, force metav1.ApplyOptions) error {
	if !d.ClusterIP.IsValid() {
		return nil
	}
	service := coreapply.Service(dnsService, metav1.NamespaceSystem).
		WithLabels(map[string]string{
			"k8s-app": dnsService, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS",
		}).
		WithAnnotations(map[string]string{
			"prometheus.io/scrape": "true",
			"prometheus.io/port":   fmt.Sprint(d.MetricsPort),
		})
	spec := coreapply.ServiceSpec().WithClusterIP(d.ClusterIP.String())
	slice := discoveryapply.EndpointSlice(dnsService, metav1.NamespaceSystem).
		WithLabels(map[string]string{
			discoveryv1.LabelServiceName: dnsService, discoveryv1.LabelManagedBy: "mullion.dev",
		}).
		WithAddressType(discoveryv1.AddressTypeIPv4).
		WithEndpoints(discoveryapply.Endpoint().WithAddresses(d.Address.String()).
			WithConditions(discoveryapply.EndpointConditions().WithReady(true)))
	for _, p := range d.ports() {
		spec.WithPorts(
			coreapply.ServicePort().WithName(p.Name).WithProtocol(p.Protocol).WithPort(p.Port).WithTargetPort(
				intstr.FromInt32(p.Port)))
		slice.WithPorts(discoveryapply.EndpointPort().WithName(p.Name).WithProtocol(p.Protocol).WithPort(p.Port))
	}
	if _, err := client.CoreV1().Services(metav1.NamespaceSystem).Apply(ctx, service.WithSpec(spec),
		force); err != nil {
		return fmt.Errorf("apply service %q: %w", dnsService, err)
	}
	if _, err := client.DiscoveryV1().EndpointSlices(metav1.NamespaceSystem).Apply(ctx, slice, force); err != nil {
		return fmt.Errorf("apply endpoint slice %q: %w", dnsService, err)
	}
	return nil
}
