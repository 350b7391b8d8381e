// Package kubeadm owns how machines join a cluster that kubeadm made, or a tool that builds on it (kind, minikube): it
// reads the cluster's networking from ConfigMaps that a machine with a bootstrap token may read, gives the machine's
// nodes the rights that they need, and makes them part of flannel's pod network. It changes nothing in the cluster
// except what belongs to the nodes that join.
package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

var (
	// ErrNone says that the cluster has no readable ConfigMaps of kubeadm's.
	ErrNone = errors.New("the cluster is neither Mullion's nor one that kubeadm made")
	// ErrNetwork says that pods of our nodes could not be part of the cluster's network.
	ErrNetwork = errors.New("the cluster's pod network is not one that nodes can join here")
)

// kubeadm's defaults, for fields that its ConfigMaps leave out:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubeadm/app/apis/kubeadm/v1beta4/defaults.go
const (
	defaultServices = "10.96.0.0/12"
	defaultDomain   = "cluster.local"
	defaultName     = "kubernetes"
)

// Cluster is what nodes that join have to know. If a subnet has two families, it is the IPv4 one.
type Cluster struct {
	Name           string
	Domain         string
	Pods, Services netip.Prefix
	// DNS is the ClusterIP of the cluster's DNS; not valid if kubelet-config names none.
	DNS netip.Addr
	// ServerTLSBootstrap says that kubelets ask the cluster for serving certificates.
	ServerTLSBootstrap bool
}

// clusterConfiguration holds the fields of kubeadm-config that are read:
// https://kubernetes.io/docs/reference/config-api/kubeadm-config.v1beta4/#kubeadm-k8s-io-v1beta4-ClusterConfiguration
type clusterConfiguration struct {
	ClusterName string `json:"clusterName"`
	Networking  struct {
		PodSubnet     string `json:"podSubnet"`
		ServiceSubnet string `json:"serviceSubnet"`
		DNSDomain     string `json:"dnsDomain"`
	} `json:"networking"`
}

// kubeletConfiguration holds the fields of kubelet-config, a KubeletConfiguration, that are read.
type kubeletConfiguration struct {
	ClusterDNS         []string `json:"clusterDNS"`
	ClusterDomain      string   `json:"clusterDomain"`
	ServerTLSBootstrap bool     `json:"serverTLSBootstrap"`
}

// Read reads kubeadm's ConfigMaps and checks whether nodes of ours can be part of the cluster. Its errors wrap those of
// this package.
func Read(ctx context.Context, client kubernetes.Interface) (Cluster, error) {
	var conf clusterConfiguration
	if err := read(ctx, client, "kubeadm-config", "ClusterConfiguration", &conf); err != nil {
		return Cluster{}, err
	}
	var kubelet kubeletConfiguration
	if err := read(ctx, client, "kubelet-config", "kubelet", &kubelet); err != nil {
		return Cluster{}, err
	}
	c := Cluster{
		Name:               or(conf.ClusterName, defaultName),
		Domain:             or(kubelet.ClusterDomain, or(conf.Networking.DNSDomain, defaultDomain)),
		ServerTLSBootstrap: kubelet.ServerTLSBootstrap,
	}
	if conf.Networking.PodSubnet == "" {
		return c, fmt.Errorf(
			"read the cluster's networking: %w: kubeadm-config has no podSubnet, so nodes get no pod CIDRs", ErrNetwork)
	}
	var err error
	if c.Pods, err = subnet("podSubnet", conf.Networking.PodSubnet); err != nil {
		return c, err
	}
	if c.Services, err = subnet("serviceSubnet", or(conf.Networking.ServiceSubnet, defaultServices)); err != nil {
		return c, err
	}
	for _, text := range kubelet.ClusterDNS {
		if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
			c.DNS = a
			break
		}
	}
	return c, nil
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// read reads one of kubeadm's ConfigMaps.
func read(ctx context.Context, client kubernetes.Interface, name, key string, into any) error {
	object, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return fmt.Errorf("read ConfigMap %q of kube-system: %w: %w", name, ErrNone, err)
	case err != nil:
		return fmt.Errorf("read ConfigMap %q of kube-system: %w", name, err)
	}
	if err := yaml.Unmarshal([]byte(object.Data[key]), into); err != nil {
		return fmt.Errorf("read %s in ConfigMap %q of kube-system: %w", key, name, err)
	}
	return nil
}

// subnet returns the IPv4 subnet of one or two subnets.
func subnet(field, text string) (netip.Prefix, error) {
	for part := range strings.SplitSeq(text, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return p, fmt.Errorf("read %s of kubeadm-config: %w", field, err)
		}
		if p.Addr().Is4() {
			return p.Masked(), nil
		}
	}
	return netip.Prefix{}, fmt.Errorf(
		"read %s of kubeadm-config: %w: %s has no IPv4 subnet, and Windows nodes need one", field,
		ErrNetwork, text)
}
