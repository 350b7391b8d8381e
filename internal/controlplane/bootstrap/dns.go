package bootstrap

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/version"
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

// dnsGrant returns CoreDNS's right to read what it needs: kubeadm's role for it, bound to a user, because without a pod
// it has no service account's token.
func dnsGrant() grant {
	return grant{
		name:    "system:coredns",
		role:    "system:coredns",
		subject: user(pki.CoreDNS().Name),
		rules: []rbacv1.PolicyRule{
			and(rule("", "services", "list", "watch"), "pods", "namespaces", "endpoints"),
			rule("discovery.k8s.io", "endpointslices", "list", "watch"),
		},
	}
}

// ports returns the ports in the form of a Service.
func (d DNS) ports() []corev1.ServicePort {
	return []corev1.ServicePort{
		{Name: "dns", Protocol: corev1.ProtocolUDP, Port: d.Port},
		{Name: "dns-tcp", Protocol: corev1.ProtocolTCP, Port: d.Port},
		{Name: "metrics", Protocol: corev1.ProtocolTCP, Port: d.MetricsPort},
	}
}

// apply puts the Service and its one endpoint in place. The Service has no selector, so nothing else makes endpoints
// for it.
func (d DNS) apply(ctx context.Context, client kubeclient.Interface, force metav1.ApplyOptions,
	minor version.Minor,
) error {
	if !d.ClusterIP.IsValid() {
		return nil
	}
	service := &corev1.Service{
		ObjectMeta: named(dnsService, metav1.NamespaceSystem),
		Spec:       corev1.ServiceSpec{ClusterIP: d.ClusterIP.String()},
	}

	service.Labels = map[string]string{
		"k8s-app": dnsService, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS",
	}
	service.Annotations = map[string]string{
		"prometheus.io/scrape": "true",
		"prometheus.io/port":   fmt.Sprint(d.MetricsPort),
	}

	slice := endpoint(dnsService, d.Address)
	for _, p := range d.ports() {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{
			Name:     &p.Name,
			Protocol: &p.Protocol,
			Port:     &p.Port,
		})
		p.TargetPort = intstr.FromInt32(p.Port)
		service.Spec.Ports = append(service.Spec.Ports, p)
	}

	if _, err := client.CoreV1().Services(metav1.NamespaceSystem).Apply(ctx, service, force); err != nil {
		return fmt.Errorf("apply service %q: %w", dnsService, err)
	}
	return applyEndpoint(ctx, client, force, minor, slice)
}

// applyEndpoint puts the one address of a Service in place: as an EndpointSlice, or as Endpoints in an API that has no
// such. kube-proxy.exe of that age reads no others, and the API server makes slices of them.
func applyEndpoint(ctx context.Context, client kubeclient.Interface, force metav1.ApplyOptions, minor version.Minor,
	slice *discoveryv1.EndpointSlice,
) error {
	if minor < version.EndpointSlices {
		if _, err := client.CoreV1().Endpoints(slice.Namespace).Apply(ctx, endpointsOf(slice), force); err != nil {
			return fmt.Errorf("apply endpoints %q: %w", slice.Name, err)
		}
		return nil
	}
	if _, err := client.DiscoveryV1().EndpointSlices(slice.Namespace).Apply(ctx, slice, force); err != nil {
		return fmt.Errorf("apply endpoint slice %q: %w", slice.Name, err)
	}

	return nil
}

// endpointsOf returns what a slice says as Endpoints.
//
//nolint:staticcheck // deprecated, and what there is
func endpointsOf(slice *discoveryv1.EndpointSlice) *corev1.Endpoints {
	var subset corev1.EndpointSubset
	for _, e := range slice.Endpoints {
		for _, address := range e.Addresses {
			subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: address})
		}
	}

	for _, p := range slice.Ports {
		subset.Ports = append(subset.Ports, corev1.EndpointPort{
			Name:     *p.Name,
			Protocol: *p.Protocol,
			Port:     *p.Port,
		})
	}

	return &corev1.Endpoints{
		ObjectMeta: named(slice.Name, slice.Namespace),
		Subsets:    []corev1.EndpointSubset{subset},
	}
}

// endpoint returns the one address of a Service without a selector; its ports are missing.
func endpoint(service string, address netip.Addr) *discoveryv1.EndpointSlice {
	ready := true
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  named(service, metav1.NamespaceSystem),
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses:  []string{address.String()},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		}},
	}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: "mullion.dev"}
	return slice
}
