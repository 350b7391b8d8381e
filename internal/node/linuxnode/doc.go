// Package linuxnode owns a Linux node as parts of a cluster: the files on its host, the configuration and flags of
// containerd, the kubelet and kube-proxy, and the components that bring it up in order. It owns neither namespaces
// (package linuxhost) nor the host's network (package underlay). The kubelet and kube-proxy are programs of a bundle
// (package cluster/bundle).
//
//	host/NODE ─▶ containerd/NODE ─▶ kubelet/NODE ─▶ kube-proxy/NODE
//	namespaces,  its own CRI,       upstream's      upstream's, nftables (iptables before 1.31)
//	files        our pause image
//
// A bare host (Config.Bare) has services/NODE (package linuxservices) after containerd/NODE, and what a person makes of
// it.
//
// Every Linux node has a containerd of its own, which runs in the host's namespaces: so its CRI and the CNI plugins
// work as they do on any machine, and nothing of them is shared with other nodes but the programs.
package linuxnode

import (
	"errors"
	"fmt"
	"path/filepath"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/linuxhost"
	"mullion.dev/mullion/internal/spec"
)

// Config is what a Linux node depends on. All paths are absolute paths of the machine.
type Config struct {
	kubenode.Config
	// Bin is the folder of Mullion's programs, Kubernetes that of kubelet and kube-proxy.
	Bin        string
	Kubernetes string
	// Overlay says that pods' packets to other nodes are carried in VXLAN: they are smaller, and the underlay does not
	// know pods' addresses.
	Overlay bool
	// NoCNI leaves the node without CNI configuration, which others install then. A bare host has none in any case.
	NoCNI bool
	// UplinkMTU is the MTU of the node's interface on the underlay; 0 means 1500.
	UplinkMTU int
}

// Paths in the host, where their programs and kubeadm have them.
const (
	programsDir   = "/opt/mullion/bin"
	kubernetesDir = "/opt/mullion/kubernetes"
	ownDir        = "/opt/mullion/own"
	// A bare host has systemctl in servicesDir. What people install in personsDir, their own kubelet for example, comes
	// before everything.
	servicesDir = "/opt/mullion/services"
	personsDir  = "/opt/bin"

	containerdConfig = "/etc/containerd/config.toml"
	baseSpec         = "/etc/containerd/container.json"
	containerdSocket = "/run/containerd/containerd.sock"

	policySocket = "/run/mullion/policy.sock"

	cniConfDir  = "/etc/cni/net.d"
	cniTemplate = "/etc/cni/mullion.conflist.template"
	// cniBinDir is where others install plugins: containerd's default (containerd v2.4.2,
	// internal/cri/config/config_unix.go).
	cniBinDir = "/opt/cni/bin"
)

// Host describes the node's namespaces.
func (c Config) Host() linuxhost.Host {
	h := linuxhost.Host{
		Name:   c.Name,
		Netns:  c.Netns,
		Root:   root(c.Dir),
		RunDir: c.RunDir,
		Cgroup: c.Cgroup,
		Binds: []linuxhost.Bind{
			{Source: c.Bin, Target: programsDir},
			{Source: c.Kubernetes, Target: kubernetesDir},
			{Source: kubenode.OwnDir(c.Dir), Target: ownDir},
		},
	}

	if c.Bare {
		h.Programs = []string{personsDir, servicesDir, kubernetesDir}
		h.Usr = filepath.Join(c.Dir, "usr")
	}
	return h
}

// oldRuntime reports whether the kubelet needs the containerd of its bundle. What a bare host's kubelet is, a person
// decides.
func (c Config) oldRuntime() bool {
	return !c.Bare && version.MinorOf(c.Version) < version.LinuxRuntime
}

// noCNI reports whether Mullion leaves the host without CNI configuration.
func (c Config) noCNI() bool { return c.NoCNI || c.Bare }

// Socket returns the machine's path of the socket of a node's containerd. runDir is the node's Config.RunDir.
func Socket(runDir string) string { return linuxhost.Run(runDir, "containerd", "containerd.sock") }

// PolicySocket returns the machine's path of the socket at which a node's pods get their network policies. runDir is
// the node's Config.RunDir.
func PolicySocket(runDir string) string { return linuxhost.Run(runDir, "mullion", "policy.sock") }

// root returns the folder that becomes the root of the node's host. dir is the node's folder of state.
func root(dir string) string { return filepath.Join(dir, "root") }

// Identity returns the client certificate of the kubelet of the node whose folder of state is dir.
func Identity(dir string) kubenode.Identity {
	return kubenode.Identity{Dir: filepath.Join(root(dir), kubenode.KubeletCertDir)}
}

// node returns the node's configuration with what only Linux nodes need.
func (c Config) node() kubenode.Node {
	return kubenode.Node{
		Config: c.Config,
		OS:     spec.Linux,
		Root:   c.Host().Root,
		File:   func(path string) (string, error) { return c.Host().Path(path), nil },
		Tweak:  tweakKubelet,
	}
}

// Validate tells what is missing.
func (c Config) Validate() error {
	err := c.Config.Validate("linux node",
		kubenode.Setting{Name: "Bin", Value: c.Bin},
		kubenode.Setting{Name: "Kubernetes", Value: c.Kubernetes},
		kubenode.Setting{Name: "Server", Value: c.Server},
	)
	const longest = 107 // sizeof(sockaddr_un.sun_path) - 1
	if socket := Socket(c.RunDir); len(socket) > longest {
		return errors.Join(err, fmt.Errorf(
			"check linux node %q: the path of containerd's socket %q has %d bytes, %d are possible",
			c.Name, socket, len(socket), longest))
	}
	return errors.Join(err, c.node().Check(!c.NoProxy))
}
