// Package linuxnode owns a Linux node as parts of a cluster: the files on its host, the configuration and flags of
// containerd, the kubelet and kube-proxy, and the components that bring it up in order. It owns neither namespaces
// (package linuxhost) nor the host's network (package underlay). The kubelet and kube-proxy themselves are upstream's,
// linked in by the package programs below this one.
//
//	host/NODE ─▶ containerd/NODE ─▶ kubelet/NODE ─▶ kube-proxy/NODE
//	namespaces,  its own CRI,       upstream's      upstream's, nftables
//	files        our pause image
//
// Every Linux node has a containerd of its own, which runs in the host's namespaces: so its CRI and the CNI plugins
// work as they do on any machine, and nothing of them is shared with other nodes but the programs.
package linuxnode

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/linuxhost"
)

// Names of the programs, which are also the names that programs.Run knows.
const (
	Kubelet   = "kubelet"
	KubeProxy = "kube-proxy"
)

// Config is what a Linux node depends on. All paths are absolute paths of the machine.
type Config struct {
	// Name of the node and host name.
	Name string
	// Address on the underlay.
	Address netip.Addr
	// Dir is the node's folder of state, RunDir its folder of what does not survive a reboot.
	Dir    string
	RunDir string
	// Netns is the host's pinned network namespace, which must be there when the units start.
	Netns string
	// Bin is the folder of Mullion's programs; Program the one there that is kubelet and kube-proxy too, as `Program
	// component NAME`.
	Bin     string
	Program string
	// LogDir gets one file a component.
	LogDir string
	// Marker is put into the environment of all processes.
	Marker string
	// Cgroup is the node's cgroup below each hierarchy's root.
	Cgroup string

	// Server is the API server's URL, CAFile the cluster's authority, BootstrapKubeconfig a kubeconfig with a bootstrap
	// token, ProxyKubeconfig a complete one for kube-proxy, or empty: then it uses the kubelet's. The files are read
	// when the programs start.
	Server              string
	CAFile              string
	BootstrapKubeconfig string
	ProxyKubeconfig     string
	// PodSubnet, ServiceSubnet and NodeSubnet (the underlay's) are the cluster's.
	PodSubnet, ServiceSubnet, NodeSubnet netip.Prefix
	// Overlay says that pods' packets to other nodes are carried in VXLAN: they are smaller, and the underlay does not
	// know pods' addresses.
	Overlay bool
	// NoProxy leaves the node without kube-proxy, NoCNI without CNI configuration, both of which others install then.
	NoProxy, NoCNI bool
	// UplinkMTU is that of the node's interface on the underlay; 0 is an Ethernet's.
	UplinkMTU int
	// Address6 and PodSubnet6 are those of IPv6 in a dual-stack cluster.
	Address6   netip.Addr
	PodSubnet6 netip.Prefix
	// ClusterDNS is the ClusterIP of the cluster's DNS; the zero value: none. ClusterDomain is "cluster.local" by
	// default.
	ClusterDNS    netip.Addr
	ClusterDomain string
	// Taint registers the node with os=linux:NoSchedule; Labels are put on it at registration.
	Taint  bool
	Labels map[string]string
	// SystemReserved and KubeReserved are the kubelet's options.
	SystemReserved, KubeReserved map[string]string

	// After are the units that must be ready before the host, KubeletAfter those before the kubelet and kube-proxy,
	// ProxyAfter before kube-proxy besides.
	After        []string
	KubeletAfter []string
	ProxyAfter   []string
}

// Paths in the host, where their programs and kubeadm have them.
const (
	programsDir = "/opt/mullion/bin"

	containerdConfig = "/etc/containerd/config.toml"
	containerdSocket = "/run/containerd/containerd.sock"

	cniConfDir  = "/etc/cni/net.d"
	cniTemplate = "/etc/cni/mullion.conflist.template"
	// cniBinDir is where others install plugins: containerd's default (containerd v2.4.2,
	// internal/cri/config/config_unix.go).
	cniBinDir = "/opt/cni/bin"

	kubeletConfig       = "/var/lib/kubelet/config.yaml"
	kubeletCertDir      = "/var/lib/kubelet/pki"
	kubeletKubeconfig   = "/etc/kubernetes/kubelet.conf"
	bootstrapKubeconfig = "/etc/kubernetes/bootstrap-kubelet.conf"
	caFile              = "/etc/kubernetes/pki/ca.crt"
	resolvConf          = "/etc/resolv.conf"
	proxyKubeconfig     = "/etc/kubernetes/kube-proxy.conf"
)

func (c Config) unit(part string) string { return part + "/" + c.Name }

// KubeletUnit is the name of the unit whose readiness means that the kubelet serves its health endpoint.
func (c Config) KubeletUnit() string { return c.unit(Kubelet) }

// Host describes the node's namespaces.
func (c Config) Host() linuxhost.Host {
	return linuxhost.Host{
		Name:   c.Name,
		Netns:  c.Netns,
		Root:   filepath.Join(c.Dir, "root"),
		RunDir: c.RunDir,
		Cgroup: c.Cgroup,
		Binds:  []linuxhost.Bind{{Source: c.Bin, Target: programsDir}},
	}
}

// Socket is the machine's path of the socket of the node's containerd.
func (c Config) Socket() string { return c.Host().Run("containerd", "containerd.sock") }

// Identity is the kubelet's client certificate.
func (c Config) Identity() kubenode.Identity {
	return kubenode.Identity{Dir: c.Host().Path(kubeletCertDir)}
}

func (c Config) domain() string {
	if c.ClusterDomain == "" {
		return "cluster.local"
	}
	return c.ClusterDomain
}

// Validate tells what is missing.
func (c Config) Validate() error {
	var errs []error
	for _, s := range []struct{ name, value string }{
		{"Name", c.Name},
		{"Dir", c.Dir},
		{"RunDir", c.RunDir},
		{"Netns", c.Netns},
		{"Bin", c.Bin},
		{"Program", c.Program},
		{"LogDir", c.LogDir},
		{"Cgroup", c.Cgroup},
		{"Server", c.Server},
	} {
		if s.value == "" {
			errs = append(errs, fmt.Errorf("check linux node %q: %s is not set", c.Name, s.name))
		}
	}
	if !c.Address.IsValid() {
		errs = append(errs, fmt.Errorf("check linux node %q: Address is not set", c.Name))
	}
	const longest = 107 // sizeof(sockaddr_un.sun_path) - 1
	if n := len(c.Socket()); n > longest {
		errs = append(
			errs, fmt.Errorf("check linux node %q: the path of containerd's socket %q has %d bytes, %d are possible",
				c.Name, c.Socket(), n, longest))
	}
	return errors.Join(errs...)
}
