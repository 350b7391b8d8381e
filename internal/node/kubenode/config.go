package kubenode

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/google/uuid"

	"mullion.dev/mullion/internal/base/resolvconf"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/spec"
)

// Config is what a node depends on, whatever its system. All paths are absolute paths of the machine.
type Config struct {
	// Name of the node and host name.
	Name string
	// Address is on the underlay; Address6 is the IPv6 one, if the node has both families.
	Address, Address6 netip.Addr
	// Dir is the node's folder of state, RunDir its folder of what does not survive a reboot.
	Dir    string
	RunDir string
	// Netns is the host's pinned network namespace, which must be there when the units start.
	Netns string
	// LogDir gets one file a component.
	LogDir string
	// LogLevelFile holds how much the node's own programs log, for logging.Load when they start.
	LogLevelFile string
	// Marker is put into the environment of all processes.
	Marker string
	// Cgroup is the node's cgroup below each hierarchy's root.
	Cgroup string
	// AgentsCgroup and HostsCgroup are the cgroups by whose weights what serves the node runs, and the programs of
	// a Windows host that are not in Cgroup; "" is the supervisor's.
	AgentsCgroup, HostsCgroup string

	// Server is the API server's URL, CAFile the cluster's authority, BootstrapKubeconfig a kubeconfig with a bootstrap
	// token. The files are read when the kubelet starts.
	Server              string
	CAFile              string
	BootstrapKubeconfig string
	// FirstCertificate, unless nil, makes the kubelet's first client certificate, with its key behind it (PEM), where
	// the machine has the cluster's authority. Else the kubelet asks for it with the bootstrap token.
	FirstCertificate func() ([]byte, error)
	// ProxyKubeconfig is a complete kubeconfig for kube-proxy, or empty: then kube-proxy uses the kubelet's. It is read
	// when kube-proxy starts.
	ProxyKubeconfig string
	// PodSubnet, ServiceSubnet and NodeSubnet (the underlay's) are the cluster's.
	PodSubnet, ServiceSubnet, NodeSubnet netip.Prefix
	// PodSubnet6, ServiceSubnet6 and NodeSubnet6 are the IPv6 ones, if the node has both families.
	PodSubnet6, ServiceSubnet6, NodeSubnet6 netip.Prefix
	// ClusterDNS is the ClusterIP of the cluster's DNS; the zero value: none. ClusterDomain is "cluster.local" by
	// default.
	ClusterDNS    netip.Addr
	ClusterDomain string
	// SelfSigned: the kubelet signs its serving certificate itself, where nobody in the cluster approves such.
	SelfSigned bool
	// Taint registers the node with os=SYSTEM:NoSchedule; Labels are put on it at registration.
	Taint  bool
	Labels map[string]string
	// SystemReserved and KubeReserved are the kubelet's options.
	SystemReserved, KubeReserved map[string]string
	// Version is that of the node's kubelet and kube-proxy, "v1.20.15"; "" is the version that Mullion comes with.
	Version string
	// Kubelet are fields of the kubelet's configuration file that are merged into the node's.
	Kubelet map[string]any
	// KubeletExtraArgs and KubeProxyExtraArgs are flags that come after the node's own.
	KubeletExtraArgs, KubeProxyExtraArgs []spec.Arg
	// PullEnviron are variables (NAME=value) for what pulls images: those of an HTTP proxy. PullDirect is what it
	// reaches without the proxy that a person names on the host itself, in the form of NO_PROXY.
	PullEnviron []string
	PullDirect  string
	// Registries says how registries are reached.
	Registries spec.Registries
	// Bare leaves the host without kubelet and kube-proxy: a person prepares it.
	Bare bool
	// NoProxy leaves the node without kube-proxy, which others install then.
	NoProxy bool
	// Policies: NetworkPolicies are carried out, and a pod starts only when its own are (package network/policy/cover).
	Policies bool

	// After are the units that must be ready before the node's first one, KubeletAfter those before the kubelet, and
	// ProxyAfter those before kube-proxy.
	After        []component.ID
	KubeletAfter []component.ID
	ProxyAfter   []component.ID
}

// Unit returns the unit of one of the node's parts, for example "kubelet/win-1".
func (c Config) Unit(part string) component.ID { return component.OfNode(part, c.Name) }

// KubeletUnit returns the unit whose readiness means that the kubelet serves its health endpoint.
func (c Config) KubeletUnit() component.ID { return c.Unit(Kubelet) }

// ProxyUnit returns the unit whose readiness means that the services there are can be reached from the node's pods.
func (c Config) ProxyUnit() component.ID { return c.Unit(KubeProxy) }

// UUID returns the node's own UUID, the same after every reboot.
func (c Config) UUID() uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("mullion:"+c.Marker+"/"+c.Name))
}

// Hosts returns the text of the node's hosts file.
func (c Config) Hosts() string {
	return fmt.Sprintf("127.0.0.1 localhost\n::1 localhost\n%s %s\n", c.Address, c.Name)
}

// Etc returns the files of /etc, by name, by which a host resolves names.
func (c Config) Etc() map[string]string {
	return map[string]string{
		"hosts":         c.Hosts(),
		"resolv.conf":   resolvconf.Machine().String(),
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
	}
}

// Setting is a field of a configuration, and its value.
type Setting struct{ Name, Value string }

// Validate returns an error that names the required fields that are empty: those that every node needs, and those in
// own, which only the nodes of one system need. kind is what the error calls the node.
func (c Config) Validate(kind string, own ...Setting) error {
	var errs []error
	for _, s := range append([]Setting{
		{"Name", c.Name},
		{"Dir", c.Dir},
		{"RunDir", c.RunDir},
		{"Netns", c.Netns},
		{"LogDir", c.LogDir},
		{"Cgroup", c.Cgroup},
	}, own...) {
		if s.Value == "" {
			errs = append(errs, fmt.Errorf("check %s %q: %s is not set", kind, c.Name, s.Name))
		}
	}

	if !c.Address.IsValid() {
		errs = append(errs, fmt.Errorf("check %s %q: Address is not set", kind, c.Name))
	}
	return errors.Join(errs...)
}
