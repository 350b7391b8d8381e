package bootstrap

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// registryConfigMap is where tools that build images look for a registry of the cluster's:
// https://github.com/kubernetes/enhancements/tree/master/keps/sig-cluster-lifecycle/generic/1755-communicating-a-local-registry
const registryConfigMap = "local-registry-hosting"

// RegistryHost publishes the registry at host ("localhost:5001") in the way of KEP-1755. The host is the same for who
// pushes on the machine and for the nodes' container runtimes. Pods have no way to it, so hostFromClusterNetwork is
// left out.
func RegistryHost(ctx context.Context, client kubeclient.Interface, host string) error {
	object := &corev1.ConfigMap{
		ObjectMeta: named(registryConfigMap, metav1.NamespacePublic),
		Data: map[string]string{"localRegistryHosting.v1": fmt.Sprintf(
			"host: %[1]q\nhostFromContainerRuntime: %[1]q\nhelp: \"docs/guide/registry.md of Mullion\"\n", host)},
	}

	force := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	if _, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).Apply(ctx, object, force); err != nil {
		return fmt.Errorf("apply config map %q: %w", registryConfigMap, err)
	}
	return nil
}

// ForgetRegistry takes back what RegistryHost has published; it is no error if there is nothing.
func ForgetRegistry(ctx context.Context, client kubeclient.Interface) error {
	err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).Delete(ctx, registryConfigMap, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove config map %q: %w", registryConfigMap, err)
	}
	return nil
}
