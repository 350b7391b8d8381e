package bootstrap

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	discoveryapply "k8s.io/client-go/applyconfigurations/discovery/v1"
	rbacapply "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"mullion.dev/mullion/internal/controlplane/pki"
)

// MetricsAPI is the resource metrics API (metrics.k8s.io), which metrics-server answers; here it does not run in a pod.
// Names and rights are those of upstream's manifests:
// https://github.com/kubernetes-sigs/metrics-server/tree/v0.9.0/manifests/base
type MetricsAPI struct {
	// Address and Port are the server's.
	Address netip.Addr
	Port    int32
	// CA is the authority (PEM) of its certificate.
	CA []byte
}

const (
	metricsService = "metrics-server"
	metricsPort    = 443
)

// metricsGrants are the rights of metrics-server: to read its data, and to ask the API server to authenticate and
// authorize its clients.
func metricsGrants() []grant {
	return []grant{
		{
			name:    "system:metrics-server",
			role:    "system:metrics-server",
			subject: user(pki.MetricsServer().Name),
			rules: []*rbacapply.PolicyRuleApplyConfiguration{
				rule("", "nodes/metrics", "get"),
				rule("", "nodes", "get", "list", "watch").WithResources("pods"),
			},
		},
		{
			name:    "metrics-server:system:auth-delegator",
			role:    "system:auth-delegator",
			subject: user(pki.MetricsServer().Name),
		},
	}
}

// Apply registers the API: the right to read it for everybody with the role view, the Service with its only endpoint,
// and the APIService.
func (m MetricsAPI) Apply(ctx context.Context, client kubernetes.Interface) error {
	force := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	const reader = "system:aggregated-metrics-reader"
	role := rbacapply.ClusterRole(reader).
		WithLabels(map[string]string{
			"rbac.authorization.k8s.io/aggregate-to-view":  "true",
			"rbac.authorization.k8s.io/aggregate-to-edit":  "true",
			"rbac.authorization.k8s.io/aggregate-to-admin": "true",
		}).
		WithRules(rule("metrics.k8s.io", "pods", "get", "list", "watch").WithResources("nodes"))
	if _, err := client.RbacV1().ClusterRoles().Apply(ctx, role, force); err != nil {
		return fmt.Errorf("apply cluster role %q: %w", reader, err)
	}
	labels := map[string]string{"k8s-app": metricsService}
	const portName = "https"
	service := coreapply.Service(metricsService,
		metav1.NamespaceSystem).WithLabels(labels).WithSpec(coreapply.ServiceSpec().WithPorts(
		coreapply.ServicePort().WithName(portName).WithProtocol(corev1.ProtocolTCP).WithPort(metricsPort).
			WithTargetPort(intstr.FromInt32(m.Port)).WithAppProtocol("https")))
	if _, err := client.CoreV1().Services(metav1.NamespaceSystem).Apply(ctx, service, force); err != nil {
		return fmt.Errorf("apply service %q: %w", metricsService, err)
	}
	slice := discoveryapply.EndpointSlice(metricsService, metav1.NamespaceSystem).
		WithLabels(map[string]string{
			discoveryv1.LabelServiceName: metricsService,
			discoveryv1.LabelManagedBy:   "mullion.dev",
		}).
		WithAddressType(discoveryv1.AddressTypeIPv4).
		WithEndpoints(discoveryapply.Endpoint().WithAddresses(m.Address.String()).
			WithConditions(discoveryapply.EndpointConditions().WithReady(true))).
		WithPorts(discoveryapply.EndpointPort().WithName(portName).WithProtocol(corev1.ProtocolTCP).WithPort(m.Port))
	if _, err := client.DiscoveryV1().EndpointSlices(metav1.NamespaceSystem).Apply(ctx, slice, force); err != nil {
		return fmt.Errorf("apply endpoint slice %q: %w", metricsService, err)
	}
	return m.applyAPIService(ctx, client)
}

// applyAPIService uses plain requests of the client, so that the aggregator's own client is not linked in for this one
// object.
func (m MetricsAPI) applyAPIService(ctx context.Context, client kubernetes.Interface) error {
	port := int32(metricsPort)
	object := apiregistrationv1.APIService{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   "v1beta1.metrics.k8s.io",
			Labels: map[string]string{"k8s-app": metricsService},
		},
		Spec: apiregistrationv1.APIServiceSpec{
			Service: &apiregistrationv1.ServiceReference{
				Namespace: metav1.NamespaceSystem,
				Name:      metricsService,
				Port:      &port,
			},
			Group:                "metrics.k8s.io",
			Version:              "v1beta1",
			CABundle:             m.CA,
			GroupPriorityMinimum: 100,
			VersionPriority:      100,
		},
	}
	body, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode API service %q: %w", object.Name, err)
	}
	err = client.Discovery().RESTClient().Patch(types.ApplyYAMLPatchType).
		AbsPath("/apis/apiregistration.k8s.io/v1/apiservices/"+object.Name).
		Param("fieldManager", fieldManager).Param("force", "true").Body(body).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("apply API service %q: %w", object.Name, err)
	}
	return nil
}
