// Package kubeadm owns how machines join a cluster that kubeadm made, or a tool that builds on it (kind, minikube): it
// reads the cluster's networking from ConfigMaps that a machine with a bootstrap token may read, gives the machine's
// nodes the rights that they need, and makes them part of flannel's pod network. It changes nothing in the cluster
// except what belongs to the nodes that join.
package kubeadm

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/machines/terms"
)

var (
	// ErrNone says that the cluster has no readable ConfigMaps of kubeadm's.
	ErrNone = errors.New("the cluster is neither Mullion's nor one that kubeadm made")
	// ErrNetwork says that pods of our nodes could not be part of the cluster's network.
	ErrNetwork = terms.ErrNetwork
)

// Cluster is what nodes that join have to know.
type Cluster = terms.Cluster

// Read reads kubeadm's ConfigMaps and checks whether nodes of ours can be part of the cluster. Its errors wrap those of
// this package.
func Read(ctx context.Context, client kubeclient.Interface) (Cluster, error) {
	conf, err := read(ctx, client, terms.KubeadmConfig, terms.KubeadmKey)
	if err != nil {
		return Cluster{}, err
	}
	kubelet, err := read(ctx, client, terms.KubeletConfig, terms.KubeletKey)
	if err != nil {
		return Cluster{}, err
	}
	return terms.Kubeadm(conf, kubelet)
}

// read returns the text in one of kubeadm's ConfigMaps.
func read(ctx context.Context, client kubeclient.Interface, name, key string) (string, error) {
	object, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return "", fmt.Errorf("read ConfigMap %q of kube-system: %w: %w", name, ErrNone, err)
	case err != nil:
		return "", fmt.Errorf("read ConfigMap %q of kube-system: %w", name, err)
	}
	return object.Data[key], nil
}
