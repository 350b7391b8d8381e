// Package winnode owns a Windows host as parts of a cluster: the files on its C: drive, the configuration and flags of
// the unmodified kubelet.exe and kube-proxy.exe, and the components that bring the host up in order. It owns neither
// namespaces (package winhost), nor Wine (package wine), nor what serves HNS and CRI (package agent), nor the host's
// network.
//
//	wine ─▶ prefix/NODE ─▶ host/NODE ─▶ agent/NODE ─▶ kubelet/NODE ─▶ kube-proxy/NODE
//	        overlay, files  namespaces   mullion-node   kubelet.exe     kube-proxy.exe
//	                                     serve
//
// The prefix outlives the supervisor, since containers have volumes out of it; it is unmounted with everything else of
// the data folder when the cluster is taken down.
package winnode

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/winver"
)

// Ports on the loopback of the host's own network namespace.
const (
	HNSPort = 10290
	CRIPort = 10291
)

// Config is what a Windows host depends on. All paths are absolute paths of the machine.
type Config struct {
	// Name of the node and host name.
	Name string
	// Build of Windows that the host is.
	Build winver.Build
	// Address on the underlay.
	Address netip.Addr
	// Dir is the host's folder of state, RunDir its folder of what does not survive a reboot.
	Dir    string
	RunDir string
	// Netns is the host's pinned network namespace, which must be there when the units start.
	Netns string
	// NodeProgram is the mullion-node program, Programs the folder of upstream's programs (bin/windows).
	NodeProgram string
	Programs    string
	// ProgramsDir is where the layer with upstream's programs is made; hosts share it.
	ProgramsDir string
	// LogDir gets one file a component.
	LogDir string
	// Marker is put into the environment of all processes.
	Marker string
	// System is the Wine system layer; it is asked for when the prefix starts, after the units in After.
	System func() *wine.System

	// Server is the API server's URL, CAFile the cluster's authority, BootstrapKubeconfig a kubeconfig with a bootstrap
	// token. The files are read when the kubelet starts.
	Server              string
	CAFile              string
	BootstrapKubeconfig string
	// ProxyKubeconfig is a kubeconfig for kube-proxy, complete, or empty: then it uses the kubelet's. It is read when
	// kube-proxy starts.
	ProxyKubeconfig string
	// ContainerdSocket is the engine's, ContainerdNamespace the containerd namespace, and CgroupParent the
	// cgroup of the host's containers.
	ContainerdSocket    string
	ContainerdNamespace string
	CgroupParent        string
	// PodSubnet, ServiceSubnet and NodeSubnet (the underlay's) are the cluster's.
	PodSubnet, ServiceSubnet, NodeSubnet netip.Prefix
	// Address6 and IPv6 are the host's address and the cluster's subnets of IPv6, where the host has both families.
	Address6 netip.Addr
	IPv6     agentconfig.Subnets
	// ClusterDNS is the ClusterIP of the cluster's DNS; the zero value: none. ClusterDomain is "cluster.local" by
	// default.
	ClusterDNS    netip.Addr
	ClusterDomain string
	// SelfSigned: the kubelet signs its serving certificate itself, where nobody in the cluster approves such.
	SelfSigned bool
	// Taint registers the node with os=windows:NoSchedule; Labels are put on it at registration.
	Taint  bool
	Labels map[string]string
	// SystemReserved and KubeReserved are the kubelet's options.
	SystemReserved, KubeReserved map[string]string

	// Network is the kind of network that pods have.
	Network agentconfig.Network
	// EnableDSR is kube-proxy's --enable-dsr.
	EnableDSR bool
	// NoProxy leaves the host without kube-proxy; without CNI plugins it is by Network.NoCNI.
	NoProxy bool

	// After are the units that must be ready before the host's first one, ProxyAfter those before kube-proxy.
	After      []string
	ProxyAfter []string
}

// Names of the host's units.
func (c Config) unit(part string) string { return part + "/" + c.Name }

// KubeletUnit is the name of the unit whose readiness means that the kubelet serves its health endpoint.
func (c Config) KubeletUnit() string { return c.unit("kubelet") }

// ProxyUnit is the name of the unit whose readiness means that the services there are can be reached from the host's
// pods.
func (c Config) ProxyUnit() string { return c.unit("kube-proxy") }

// Prefix is where the host's Wine prefix is mounted.
func (c Config) Prefix() string { return filepath.Join(c.Dir, "prefix") }

// drive is the host's C: as a path of the machine.
func (c Config) drive(parts ...string) string {
	return filepath.Join(append([]string{wine.Drive(c.Prefix())}, parts...)...)
}

// HostFile is where the host's description for winhost.Load is written.
func (c Config) HostFile() string { return filepath.Join(c.Dir, "host.json") }

// TokenFile holds the token that programs of the host present to the HNS server; it is on the host's C:.
func (c Config) TokenFile() string { return c.drive("ProgramData", "Mullion", "hns.token") }

// Identity is the kubelet's client certificate.
func (c Config) Identity() kubenode.Identity {
	return kubenode.Identity{Dir: c.drive("var", "lib", "kubelet", "pki")}
}

func (c Config) domain() string {
	if c.ClusterDomain == "" {
		return "cluster.local"
	}
	return c.ClusterDomain
}

// Host describes the host's namespaces and how Windows programs are run in them.
func (c Config) Host(s *wine.System) winhost.Host {
	h := winhost.Host{
		Name:      c.Name,
		Netns:     c.Netns,
		StateFile: filepath.Join(c.RunDir, "host-state.json"),
		Tmp:       filepath.Join(c.RunDir, "tmp"),
		Shared:    filepath.Join(c.RunDir, "hpc"),
		Keep:      []string{c.Prefix()},
		Loader:    s.LoaderArgv(),
		Env:       s.HostEnv(c.Prefix()),
		Dir:       c.drive(),
	}
	for _, name := range []string{"passwd", "group", "hosts", "resolv.conf", "nsswitch.conf"} {
		h.Binds = append(h.Binds, winhost.Bind{Source: c.etc(name), Target: "/etc/" + name})
	}
	if c.Marker != "" {
		h.Env = append(h.Env, "MULLION_CLUSTER="+c.Marker)
	}
	return h
}

// etc is a file that the host sees in its /etc.
func (c Config) etc(name string) string { return filepath.Join(c.Dir, "etc", name) }

// Validate tells what is missing.
func (c Config) Validate() error {
	var errs []error
	for _, s := range []struct{ name, value string }{
		{"Name", c.Name},
		{"Build", c.Build.Name},
		{"Dir", c.Dir},
		{"RunDir", c.RunDir},
		{"Netns", c.Netns},
		{"NodeProgram", c.NodeProgram},
		{"Programs", c.Programs},
		{"ProgramsDir", c.ProgramsDir},
		{"LogDir", c.LogDir},
		{"Server", c.Server},
	} {
		if s.value == "" {
			errs = append(errs, fmt.Errorf("check windows host %q: %s is not set", c.Name, s.name))
		}
	}
	if !c.Address.IsValid() {
		errs = append(errs, fmt.Errorf("check windows host %q: Address is not set", c.Name))
	}
	if c.System == nil {
		errs = append(errs, fmt.Errorf("check windows host %q: System is not set", c.Name))
	}
	return errors.Join(errs...)
}
