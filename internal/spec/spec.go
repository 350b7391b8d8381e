// Package spec owns the description of a cluster that a person writes (cluster.yaml): its shape, defaults and
// validation. It knows nothing of how a cluster is brought up.
package spec

import (
	"cmp"
	"fmt"

	"mullion.dev/mullion/internal/windows/winver"
)

// APIVersion and Kind head every cluster.yaml.
const (
	APIVersion = "mullion.dev/v1alpha1"
	Kind       = "Cluster"
)

// Cluster describes a cluster as cluster.yaml does.
type Cluster struct {
	APIVersion string `yaml:"apiVersion" json:"apiVersion"`
	Kind       string `yaml:"kind" json:"kind"`
	// Name is the cluster's name and the name of its context in a kubeconfig.
	Name string `yaml:"name" json:"name"`
	// KubernetesVersion is that of the control plane, and of nodes that name none: "1.35" or "v1.35.8". Left out, it is
	// the one that Mullion comes with.
	KubernetesVersion string `yaml:"kubernetesVersion,omitempty" json:"kubernetesVersion,omitempty"`
	// Wine is a folder of this machine with the Wine that its Windows nodes run on, an absolute path. Left out, it is
	// the one that is installed.
	Wine       string     `yaml:"wine,omitempty" json:"wine,omitempty"`
	Networking Networking `yaml:"networking" json:"networking"`
	Addons     Addons     `yaml:"addons" json:"addons"`
	// Proxy is the HTTP proxy through which nodes pull images. Left out, it is that of the environment in which the
	// cluster is brought up for the first time.
	Proxy *Proxy `yaml:"proxy,omitempty" json:"proxy,omitempty"`
	// Registry is a registry of images beside the cluster, nil for none.
	Registry *Registry `yaml:"registry,omitempty" json:"registry,omitempty"`
	// Registries says how nodes reach registries; nil says nothing.
	Registries *Registries `yaml:"registries,omitempty" json:"registries,omitempty"`
	// Domains are those whose accounts the pods of the Windows nodes can be.
	Domains []Domain `yaml:"domains,omitempty" json:"domains,omitempty"`
	Nodes   []Node   `yaml:"nodes" json:"nodes"`
	// Join is set on a machine that joined the cluster; then Nodes are that machine's nodes.
	Join *Join `yaml:"-" json:"join,omitempty"`
	// Docker is set where there is no cluster, but Docker's engine on a Windows host, which is the only node.
	Docker *Docker `yaml:"-" json:"docker,omitempty"`
}

// Addons are parts that a cluster can do without. They are on unless they are false.
type Addons struct {
	// MetricsServer answers the resource metrics API, for `kubectl top` and autoscaling by CPU and memory.
	MetricsServer *bool `yaml:"metricsServer,omitempty" json:"metricsServer,omitempty"`
	// LocalStorage makes volumes of the StorageClass local, the default one: folders on the nodes.
	LocalStorage *bool `yaml:"localStorage,omitempty" json:"localStorage,omitempty"`
	// GMSA is the kind GMSACredentialSpec and its admission webhook.
	GMSA *bool `yaml:"gmsa,omitempty" json:"gmsa,omitempty"`
}

// Networking holds the cluster's subnets (CIDR: IPv4, or "IPv4,IPv6" in a dual-stack cluster), where the API server
// listens on the machine, and the kind of network that Windows nodes have.
type Networking struct {
	APIServerAddress string `yaml:"apiServerAddress" json:"apiServerAddress"`
	// AdvertiseAddress is the IPv4 address of this machine by which other machines join the cluster; left out, the
	// cluster is on this machine only.
	AdvertiseAddress string `yaml:"advertiseAddress,omitempty" json:"advertiseAddress,omitempty"`
	// APIServerPort is a TCP port of the machine; 0 lets the machine choose a free one once, which is then kept, or
	// means 6443 with AdvertiseAddress.
	APIServerPort  int    `yaml:"apiServerPort" json:"apiServerPort"`
	UnderlaySubnet string `yaml:"underlaySubnet" json:"underlaySubnet"`
	PodSubnet      string `yaml:"podSubnet" json:"podSubnet"`
	ServiceSubnet  string `yaml:"serviceSubnet" json:"serviceSubnet"`
	// LoadBalancerPool is the range of addresses for Services of type LoadBalancer, one of each family in a dual-stack
	// cluster: a part of the underlay's subnet, or a subnet of its own.
	LoadBalancerPool string `yaml:"loadBalancerPool" json:"loadBalancerPool"`
	// Mode is how the nodes' HNS networks carry pods' packets.
	Mode Mode `yaml:"mode" json:"mode"`
	// Profile says how the nodes' network services treat the limits of their Windows build.
	Profile Profile `yaml:"profile" json:"profile"`
	// EnableDSR makes kube-proxy ask for direct server return (its --enable-dsr).
	EnableDSR bool `yaml:"enableDSR" json:"enableDSR"`
	// KubeProxyMode says whether nodes have a kube-proxy from Mullion. This and the next field are named as in kind,
	// and serve the same purpose: to deploy another kube-proxy or CNI plugin
	// (https://kind.sigs.k8s.io/docs/user/configuration/#kube-proxy-mode).
	KubeProxyMode KubeProxyMode `yaml:"kubeProxyMode,omitempty" json:"kubeProxyMode,omitempty"`
	// DisableDefaultCNI leaves the nodes without CNI plugins and configuration; they become Ready when somebody has
	// installed some. In mode overlay whoever does that connects the nodes too (OwnOverlay).
	DisableDefaultCNI bool `yaml:"disableDefaultCNI,omitempty" json:"disableDefaultCNI,omitempty"`
	// NetworkPolicy says whether NetworkPolicies are carried out. Left out, they are where they can be
	// (Networking.Policies).
	NetworkPolicy *bool `yaml:"networkPolicy,omitempty" json:"networkPolicy,omitempty"`
	// WindowsNetworkPolicy says who carries NetworkPolicies out on Windows nodes.
	WindowsNetworkPolicy WindowsNetworkPolicy `yaml:"windowsNetworkPolicy,omitempty" json:"windowsNetworkPolicy,omitempty"`
	// ExternalNodes are the IPv4 addresses, or networks of addresses, of nodes that Mullion does not run: Windows
	// Servers that mullion-agent joins. They reach the other nodes and pods without NAT, and get serving certificates.
	ExternalNodes []string `yaml:"externalNodes,omitempty" json:"externalNodes,omitempty"`
}

// WindowsNetworkPolicy is empty (Mullion, as on Linux nodes) or PolicyExternal.
type WindowsNetworkPolicy string

// PolicyExternal leaves NetworkPolicies on Windows nodes to a program that somebody deploys: Calico's Felix.
const PolicyExternal WindowsNetworkPolicy = "external"

// Policies reports whether NetworkPolicies are carried out. They can be where pods have addresses that other nodes see
// and Mullion connects the pods.
func (n Networking) Policies() bool {
	if n.NetworkPolicy != nil {
		return *n.NetworkPolicy
	}
	return n.Mode.Services() && !n.DisableDefaultCNI
}

// WindowsPolicies reports whether Mullion carries NetworkPolicies out on Windows nodes.
func (n Networking) WindowsPolicies() bool {
	return n.Policies() && n.WindowsNetworkPolicy != PolicyExternal
}

// OwnOverlay reports whether Mullion connects the nodes by an overlay. Without a CNI plugin of Mullion's the overlay is
// for somebody else to make: two with one VNI and port cannot be on a node.
func (n Networking) OwnOverlay() bool { return n.Mode == ModeOverlay && !n.DisableDefaultCNI }

// KubeProxyMode is empty (each node has a kube-proxy: kernelspace on Windows, nftables on Linux) or KubeProxyNone.
type KubeProxyMode string

// KubeProxyNone leaves kube-proxy to whoever deploys it.
const KubeProxyNone KubeProxyMode = "none"

// KubeProxy reports whether Mullion runs a kube-proxy on the Windows nodes.
func (n Networking) KubeProxy() bool { return n.Mode.Services() && n.KubeProxyMode != KubeProxyNone }

// Mode is a network mode of Windows containers, in cluster.yaml's spelling of the HNS network's type.
type Mode string

// The network modes. https://kubernetes.io/docs/concepts/services-networking/windows-networking/#network-modes
const (
	// ModeL2Bridge routes pods' addresses over the underlay (win-bridge).
	ModeL2Bridge Mode = "l2bridge"
	// ModeL2Tunnel is ModeL2Bridge with every packet by way of the underlay's router (win-bridge).
	ModeL2Tunnel Mode = "l2tunnel"
	// ModeOverlay carries pods' frames in VXLAN (win-overlay, with the routes that flannel makes for it).
	ModeOverlay Mode = "overlay"
	// ModeNAT hides the pods of each node behind the node; there is no network between nodes.
	ModeNAT Mode = "nat"
	// ModeTransparent puts pods on the underlay itself, each with its own hardware address.
	ModeTransparent Mode = "transparent"
)

// Modes returns all network modes.
func Modes() []Mode {
	return []Mode{ModeL2Bridge, ModeOverlay, ModeL2Tunnel, ModeNAT, ModeTransparent}
}

// Services reports whether a cluster of that mode has Services on its Windows nodes: kube-proxy.exe needs a network
// that reaches the pods of all nodes.
func (m Mode) Services() bool { return m != ModeNAT && m != ModeTransparent }

// Profile says how the nodes' network services treat the limits of their Windows build.
type Profile string

// The profiles.
const (
	// ProfileFaithful keeps the limits, with Windows' own errors.
	ProfileFaithful Profile = "faithful"
	// ProfileModern lifts the limits: every feature of the newest build, and no limits in number.
	ProfileModern Profile = "modern"
)

// Profiles returns all profiles.
func Profiles() []Profile { return []Profile{ProfileFaithful, ProfileModern} }

// Operating systems of nodes.
const (
	Windows = "windows"
	Linux   = "linux"
)

// Node describes one node or, with Count, several alike.
type Node struct {
	// Name of the node; with Count above 1, or left out, names are made: win-1, win-2, …, linux-1, …
	Name string `yaml:"name,omitempty" json:"name"`
	// OS is Windows, also when it is left out, or Linux.
	OS string `yaml:"os" json:"os"`
	// WindowsVersion is a name or alias of the catalogue in internal/windows/winver, for example "ltsc2022"; a Linux
	// node has none.
	WindowsVersion string `yaml:"windowsVersion,omitempty" json:"windowsVersion,omitempty"`
	// KubernetesVersion is that of the node's kubelet and kube-proxy: as the cluster's, or up to three minor versions
	// older.
	KubernetesVersion string `yaml:"kubernetesVersion,omitempty" json:"kubernetesVersion,omitempty"`
	// Count is the number of such nodes, 1 when left out.
	Count int `yaml:"count,omitempty" json:"count,omitempty"`
	// Taint puts os=windows:NoSchedule, or os=linux:NoSchedule, on the node.
	Taint bool `yaml:"taint,omitempty" json:"taint,omitempty"`
	// Labels are put on the node at registration.
	Labels map[string]string `yaml:"labels,omitempty" json:"labels,omitempty"`
	// SystemReserved and KubeReserved are quantities of resources (cpu: 500m, memory: 1Gi) that the kubelet keeps from
	// pods, by its options of these names.
	SystemReserved map[string]string `yaml:"systemReserved,omitempty" json:"systemReserved,omitempty"`
	KubeReserved   map[string]string `yaml:"kubeReserved,omitempty" json:"kubeReserved,omitempty"`
	// Bare leaves the host without anything of Kubernetes that runs: it has a container runtime and a network, and a
	// person prepares it as a new server. A Linux host has the programs that kubeadm's packages bring. Fields for the
	// kubelet and kube-proxy cannot be set with it.
	Bare bool `yaml:"bare,omitempty" json:"bare,omitempty"`
	// Runtime is the container runtime of a Windows node; left out, Mullion's own.
	Runtime Runtime `yaml:"runtime,omitempty" json:"runtime,omitempty"`
	// Processors are those that a Windows node shows in place of the machine's.
	Processors Processors `yaml:"processors,omitempty" json:"processors,omitzero"`
	// Memory is what a Windows node has of the machine's memory.
	Memory Memory `yaml:"memory,omitempty" json:"memory,omitempty"`
	// PauseImage is the image of the pause container that each pod of a Windows node has, as on Windows; left out, pods
	// have none, and need none.
	PauseImage PauseImage `yaml:"pauseImage,omitempty" json:"pauseImage,omitempty"`
	// KubeletConfiguration are fields of the kubelet's configuration file, which are merged into Mullion's: maps key by
	// key, and null takes a field away (https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/).
	KubeletConfiguration Fields `yaml:"kubeletConfiguration,omitempty" json:"kubeletConfiguration,omitempty"`
	// KubeletExtraArgs and KubeProxyExtraArgs are further flags of the two programs. They come last, so they win.
	KubeletExtraArgs   []Arg `yaml:"kubeletExtraArgs,omitempty" json:"kubeletExtraArgs,omitempty"`
	KubeProxyExtraArgs []Arg `yaml:"kubeProxyExtraArgs,omitempty" json:"kubeProxyExtraArgs,omitempty"`
}

// Default returns the cluster that `mullion up` makes without a file: a Linux node, and a Windows node of each of
// windowsVersions, or two of Windows Server 2025 if there are none. With server it has no nodes. With an address to
// advertise, other machines can join.
func Default(windowsVersions []string, server bool, advertise string) Cluster {
	c := Cluster{
		APIVersion: APIVersion,
		Kind:       Kind,
		Networking: Networking{AdvertiseAddress: advertise},
	}
	if server {
		return c.withDefaults()
	}

	c.Nodes = []Node{{OS: Linux}}
	if len(windowsVersions) == 0 {
		c.Nodes = append(c.Nodes, Node{
			OS:             Windows,
			WindowsVersion: winver.Default(),
			Count:          2,
		})
	}

	for _, v := range windowsVersions {
		c.Nodes = append(c.Nodes, Node{
			OS:             Windows,
			WindowsVersion: v,
			Count:          1,
		})
	}

	return c.withDefaults()
}

// WithDefaults fills in fields that were left out, also in a description that an earlier version of the program wrote.
func (c Cluster) WithDefaults() Cluster { return c.withDefaults() }

func (c Cluster) withDefaults() Cluster {
	set := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}

	set(&c.Name, "mullion")
	if c.SeveralMachines() {
		set(&c.Networking.APIServerAddress, c.Networking.AdvertiseAddress)
		set(&c.Networking.UnderlaySubnet, "10.213.0.0/16")
		if c.Networking.APIServerPort == 0 {
			c.Networking.APIServerPort = 6443 // other machines use it, so it should not change
		}
	}

	set(&c.Networking.APIServerAddress, "127.0.0.1")
	set(&c.Networking.UnderlaySubnet, "10.213.0.0/24")
	set(&c.Networking.LoadBalancerPool, defaultPool(c.Networking.UnderlaySubnet))
	set(&c.Networking.PodSubnet, "10.244.0.0/16")
	set(&c.Networking.ServiceSubnet, "10.96.0.0/16")
	c.Networking.completeDual()
	set((*string)(&c.Networking.Mode), string(ModeL2Bridge))
	set((*string)(&c.Networking.Profile), string(ProfileFaithful))
	if c.Registry != nil {
		c.Registry = &Registry{Port: cmp.Or(c.Registry.Port, RegistryPort)}
	}

	yes := true
	for _, addon := range []**bool{&c.Addons.MetricsServer, &c.Addons.LocalStorage, &c.Addons.GMSA} {
		if *addon == nil {
			*addon = &yes
		}
	}

	var nodes []Node
	of := map[string]int{} // how many nodes there are of an operating system
	for _, n := range c.Nodes {
		set(&n.OS, Windows)
		if n.OS == Windows {
			set(&n.WindowsVersion, winver.Default())
		}

		for i := range max(n.Count, 1) {
			one := n
			one.Count = 1
			of[n.OS]++
			switch {
			case n.Name == "":
				one.Name = fmt.Sprintf("%s-%d", c.prefix(n.OS), of[n.OS])
			case n.Count > 1:
				one.Name = fmt.Sprintf("%s-%d", n.Name, i+1)
			}

			nodes = append(nodes, one)
		}
	}

	c.Nodes = nodes
	return c
}

// Linux reports whether it is a Linux node.
func (n Node) Linux() bool { return n.OS == Linux }

// Build returns the catalogue's row for a Windows node's version.
func (n Node) Build() (winver.Build, error) { return winver.Lookup(n.WindowsVersion) }

// NodeNames returns the names of the machine's nodes, in the order of the specification.
func (c Cluster) NodeNames() []string {
	names := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		names[i] = n.Name
	}
	return names
}
