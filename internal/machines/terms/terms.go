// Package terms owns what a node that joins a cluster has to know of it and what an administrator has to do for it:
// the reading of the ConfigMaps in which Mullion and kubeadm publish a cluster's networking, and the words of the
// command that gives a node the rights of kube-proxy. It is pure: who asks the API is the caller (packages machines
// and kubeadm, and mullion-agent on a Windows Server, which has no room for a client of the whole API).
package terms

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/spec"
)

// ErrNetwork says that pods of our nodes could not be part of the cluster's network.
var ErrNetwork = errors.New("the cluster's pod network is not one that nodes can join here")

// The ConfigMaps: Mullion's in the namespace mullion-system, kubeadm's in kube-system, and their keys.
const (
	MullionNamespace = "mullion-system"
	MullionConfig    = "cluster"
	MullionKey       = "cluster.json"
	KubeadmConfig    = "kubeadm-config"
	KubeadmKey       = "ClusterConfiguration"
	KubeletConfig    = "kubelet-config"
	KubeletKey       = "kubelet"
)

// kubeadm's defaults, for fields that its ConfigMaps leave out:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubeadm/app/apis/kubeadm/v1beta4/defaults.go
const (
	defaultServices = "10.96.0.0/12"
	defaultDomain   = "cluster.local"
	defaultName     = "kubernetes"
)

// ProxierRole is the API server's own cluster role for kube-proxy.
const ProxierRole = "system:node-proxier"

// RightsName returns the name of the cluster role and of the bindings of one node.
func RightsName(node, what string) string { return "mullion:" + what + ":" + node }

// GrantCommand returns what an administrator types to give a node the rights of kube-proxy.
func GrantCommand(node string) string {
	return fmt.Sprintf("kubectl create clusterrolebinding %s --clusterrole=%s --user=system:node:%s",
		RightsName(node, "proxy"), ProxierRole, node)
}

// Mullion reads the specification, without nodes, that Mullion publishes under MullionKey, and checks it.
func Mullion(text string) (spec.Cluster, error) {
	var c spec.Cluster
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return c, err
	}
	if err := c.Validate(); err != nil {
		return c, err
	}
	return c.WithDefaults(), nil
}

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

// Kubeadm reads kubeadm's two ConfigMaps, the texts under KubeadmKey and KubeletKey, and checks whether nodes of ours
// can be part of the cluster. Its errors may wrap ErrNetwork.
func Kubeadm(cluster, kubelet string) (Cluster, error) {
	var conf clusterConfiguration
	if err := unmarshal(KubeadmConfig, KubeadmKey, cluster, &conf); err != nil {
		return Cluster{}, err
	}
	var node kubeletConfiguration
	if err := unmarshal(KubeletConfig, KubeletKey, kubelet, &node); err != nil {
		return Cluster{}, err
	}

	c := Cluster{
		Name:               or(conf.ClusterName, defaultName),
		Domain:             or(node.ClusterDomain, or(conf.Networking.DNSDomain, defaultDomain)),
		ServerTLSBootstrap: node.ServerTLSBootstrap,
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

	for _, text := range node.ClusterDNS {
		if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
			c.DNS = a
			break
		}
	}

	return c, nil
}

func unmarshal(name, key, text string, into any) error {
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("read %s in ConfigMap %q of kube-system: %w", key, name, err)
	}
	return nil
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
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
