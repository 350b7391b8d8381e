package bootstrap

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/controlplane/pki"
)

// MetricsAPI is the resource metrics API (metrics.k8s.io), which metrics-server answers; here it does not run in a pod.
// Names and rights are those of upstream's manifests:
// https://github.com/kubernetes-sigs/metrics-server/tree/v0.9.0/manifests/base
type MetricsAPI struct {
	// Address and Port are the server's.
	Address netip.Addr
	Port    int32
	// Version is the API server's; "" is the version that Mullion comes with.
	Version string
	// CA is the authority (PEM) of its certificate.
	CA []byte
}

const (
	metricsService = "metrics-server"
	metricsPort    = 443
)

// metricsGrants returns the rights of metrics-server: to read its data, and to ask the API server to authenticate and
// authorize its clients.
func metricsGrants() []grant {
	return []grant{
		{
			name:    "system:metrics-server",
			role:    "system:metrics-server",
			subject: user(pki.MetricsServer().Name),
			rules: []rbacv1.PolicyRule{
				rule("", "nodes/metrics", "get"),
				and(rule("", "nodes", "get", "list", "watch"), "pods"),
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
func (m MetricsAPI) Apply(ctx context.Context, client kubeclient.Interface) error {
	force := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	const reader = "system:aggregated-metrics-reader"
	role := &rbacv1.ClusterRole{
		ObjectMeta: named(reader, ""),
		Rules:      []rbacv1.PolicyRule{and(rule("metrics.k8s.io", "pods", "get", "list", "watch"), "nodes")},
	}

	role.Labels = map[string]string{
		"rbac.authorization.k8s.io/aggregate-to-view":  "true",
		"rbac.authorization.k8s.io/aggregate-to-edit":  "true",
		"rbac.authorization.k8s.io/aggregate-to-admin": "true",
	}
	if _, err := client.RbacV1().ClusterRoles().Apply(ctx, role, force); err != nil {
		return fmt.Errorf("apply cluster role %q: %w", reader, err)
	}

	portName, protocol := "https", corev1.ProtocolTCP
	service := &corev1.Service{
		ObjectMeta: named(metricsService, metav1.NamespaceSystem),
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{
			Name:        portName,
			Protocol:    protocol,
			Port:        metricsPort,
			TargetPort:  intstr.FromInt32(m.Port),
			AppProtocol: &portName,
		}}},
	}

	service.Labels = map[string]string{"k8s-app": metricsService}
	if _, err := client.CoreV1().Services(metav1.NamespaceSystem).Apply(ctx, service, force); err != nil {
		return fmt.Errorf("apply service %q: %w", metricsService, err)
	}
	slice := endpoint(metricsService, m.Address)
	slice.Ports = []discoveryv1.EndpointPort{{Name: &portName, Protocol: &protocol, Port: &m.Port}}
	if err := applyEndpoint(ctx, client, force, version.MinorOf(m.Version), slice); err != nil {
		return err
	}

	return m.applyAPIService(ctx, client)
}

// applyAPIService uses plain requests, so that the aggregator's types are not linked in for this one object:
// https://github.com/kubernetes/kube-aggregator/blob/v0.37.1/pkg/apis/apiregistration/v1/types.go
func (m MetricsAPI) applyAPIService(ctx context.Context, client kubeclient.Interface) error {
	const name = "v1beta1.metrics.k8s.io"
	object := map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1",
		"kind":       "APIService",
		"metadata":   map[string]any{"name": name, "labels": map[string]string{"k8s-app": metricsService}},
		"spec": map[string]any{
			"service": map[string]any{
				"namespace": metav1.NamespaceSystem,
				"name":      metricsService,
				"port":      metricsPort,
			},
			"group":                "metrics.k8s.io",
			"version":              "v1beta1",
			"caBundle":             m.CA,
			"groupPriorityMinimum": 100,
			"versionPriority":      100,
		},
	}

	body, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode API service %q: %w", name, err)
	}

	err = client.RESTClient().Patch(types.ApplyYAMLPatchType).
		AbsPath("/apis/apiregistration.k8s.io/v1/apiservices/"+name).
		Param("fieldManager", fieldManager).Param("force", "true").Body(body).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("apply API service %q: %w", name, err)
	}

	return nil
}
