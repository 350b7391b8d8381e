package cluster

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"time"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/node/agent/admin"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/runtime/admission"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/winver"
)

// apiServer is host:port by which nodes reach the API server.
func (c *composer) apiServer() string {
	switch {
	case c.Spec.Docker != nil:
		return ""
	case !c.Spec.Foreign():
		return c.APIServer.String()
	}
	host, err := spec.HostPort(c.access.server)
	if err != nil {
		return c.access.server // the probe says what is wrong with it
	}
	return host
}

// hosts are the Windows hosts with their nodes, and the Wine system layer they share.
func (c *composer) hosts() error {
	if len(c.Hosts) == 0 {
		return nil
	}

	layer := winnode.NewSystemLayer(c.wineOptions())
	c.addOfNodes(layer)
	for _, h := range c.Hosts {
		network := &parts.HostNetwork{
			Underlay: c.underlay,
			Host:     h.Name,
			Address:  h.Address,
			Server:   c.apiServer(),
		}
		c.add(network, parts.FabricUnit())
		config := c.hostConfig(h, layer.System)
		config.After = []component.ID{layer.ID(), network.ID(), component.Sole("containerd")}
		if h.Bare {
			units, err := winnode.Units(config)
			if err != nil {
				return err
			}
			c.units = append(c.units, units...)
			continue
		}

		config.KubeletAfter = c.access.kubeletAfter
		config.ProxyAfter = c.proxyAfter(config.Config, winnode.Identity(config.Dir), config.HasProxy())
		c.serving(h.Name, winnode.Identity(config.Dir), config.KubeletUnit())
		units, err := winnode.Units(config)
		if err != nil {
			return err
		}

		c.units = append(c.units, c.proxyWhenAllowed(units, h.Name, config.ProxyUnit())...)
		c.add(&parts.PodEvents{
			Node:   h.Name,
			Socket: admin.Socket(config.RunDir),
			Client: c.access.client,
		}, append([]component.ID{config.Unit("agent")}, c.access.machine...)...)

		c.add(&parts.NodeReady{
			Node:   h.Name,
			Client: c.access.client,
			NoCNI:  c.Spec.Networking.DisableDefaultCNI,
			Since:  time.Now(),
		}, config.KubeletUnit(), parts.PodRoutesUnit())
	}

	return nil
}

func (c *composer) wineOptions() wine.Options {
	return wine.Options{
		InstallDir: c.Spec.Wine,
		Dir:        c.Paths.Wine(),
		ShimDir:    c.Paths.Program("windows/shim"),
		InitBinary: c.Paths.Program("mullion-init"),
		Packed:     wine.PackedDirs(c.Paths.Bin),
		Builds:     c.builds(),
		Log:        c.log,
	}
}

// builds returns the builds of the Windows hosts, each once.
func (p Plan) builds() []winver.Build {
	var all []winver.Build
	for _, h := range p.Hosts {
		if !slices.ContainsFunc(all, func(b winver.Build) bool { return b.Name == h.Build.Name }) {
			all = append(all, h.Build)
		}
	}
	return all
}

// nodeConfig returns what a node of either system is configured with.
func (c *composer) nodeConfig(node spec.Node, address, address6 netip.Addr) kubenode.Config {
	n := c.Spec.Networking
	config := kubenode.Config{
		Name:                node.Name,
		Address:             address,
		Dir:                 c.Paths.Node(node.Name),
		RunDir:              c.Paths.NodeRun(node.Name),
		Netns:               c.underlay.HostNetns(node.Name),
		LogDir:              c.Paths.Logs(),
		LogLevelFile:        c.Paths.LogLevel(),
		Marker:              c.Paths.Data,
		Cgroup:              c.Paths.CgroupParent() + "/" + node.Name,
		AgentsCgroup:        c.Paths.Cgroup(layout.Agents),
		HostsCgroup:         c.Paths.Cgroup(layout.Hosts),
		Server:              c.access.server,
		CAFile:              c.access.caFile,
		BootstrapKubeconfig: c.access.bootstrap,
		ProxyKubeconfig:     c.access.proxy,
		PodSubnet:           n.Pods(),
		ServiceSubnet:       n.Services(),
		NodeSubnet:          n.Underlay(),
		ClusterDNS:          c.Spec.DNS(),
		ClusterDomain:       c.Spec.Domain(),
		SelfSigned:          c.selfSigned(),
		Taint:               node.Taint,
		Labels:              node.Labels,
		SystemReserved:      node.SystemReserved,
		KubeReserved:        node.KubeReserved,
		PullEnviron:         c.Spec.PullEnviron(),
		PullDirect:          c.Spec.PullDirect(),
		Version:             nodeVersion(c.Spec, node),
		Kubelet:             node.KubeletConfiguration,
		KubeletExtraArgs:    node.KubeletExtraArgs,
		KubeProxyExtraArgs:  node.KubeProxyExtraArgs,
		Bare:                node.Bare,
		NoProxy:             n.KubeProxyMode == spec.KubeProxyNone,
		Policies:            n.Policies() && !c.Spec.Foreign() && !node.Bare,
	}

	if c.Spec.Registries != nil {
		config.Registries = *c.Spec.Registries
	}
	if sign := c.access.firstCertificate; sign != nil {
		config.FirstCertificate = func() ([]byte, error) { return sign(node.Name) }
	}
	if c.Spec.Foreign() {
		config.NodeSubnet = netip.Prefix{} // the other machines on that network do not know pods' addresses
	}

	if address6.IsValid() {
		config.Address6 = address6
		config.PodSubnet6 = n.Pods6()
		config.ServiceSubnet6 = n.Services6()
		config.NodeSubnet6 = n.Underlay6()
	}
	return config
}

func (c *composer) hostConfig(h Host, system func() *wine.System) winnode.Config {
	n := c.Spec.Networking
	config := c.nodeConfig(h.Node, h.Address, h.Address6)
	config.Policies = config.Policies && n.WindowsPolicies()
	docker := ""
	if c.Spec.Docker != nil {
		docker = c.Paths.Program(DockerPrograms)
	}

	containerd := ""
	if h.OwnContainerd() {
		containerd = c.Paths.Program(ContainerdPrograms)
	}

	return winnode.Config{
		Config:              config,
		Docker:              docker,
		Containerd:          containerd,
		Build:               h.Build,
		Processors:          h.Processors,
		Places:              admission.Places(runtime.NumCPU(), len(c.Hosts)),
		Memory:              h.Memory.Bytes(),
		PauseImage:          h.PauseImage,
		Administrators:      int(engine.DefaultIDs().Base),
		Domains:             c.Spec.Domains,
		NodeProgram:         c.Paths.Program("mullion-node"),
		Kubernetes:          c.Paths.Kubernetes(nodeVersion(c.Spec, h.Node)).Node(),
		Programs:            c.Paths.Program("windows"),
		ProgramsDir:         c.Paths.WinePrograms(),
		System:              system,
		ContainerdSocket:    c.Paths.ContainerdSocket(),
		ContainerdNamespace: layout.EngineNamespace,
		Network: agentconfig.Network{
			Mode:    n.Mode,
			Profile: n.Profile,
			Shared:  h.Shared,
			NoCNI:   n.DisableDefaultCNI,
		},
		EnableDSR: n.EnableDSR,
	}
}

// HostPrefix returns where the Wine prefix of a cluster's Windows host is mounted.
func HostPrefix(paths layout.Paths, node string) string {
	return winnode.Prefix(paths.Node(node))
}

// ErrNotWindows says that a node is not a Windows node.
var ErrNotWindows = errors.New("not a Windows node")

// LoadHost describes a Windows host of the cluster that is up. It returns os.ErrNotExist if there is no cluster, and a
// NotFoundError if the cluster has no such node.
func LoadHost(paths layout.Paths, node string) (winhost.Host, error) {
	c, err := paths.LoadSpec()
	if err != nil {
		return winhost.Host{}, err
	}

	switch n, err := findNode(c, node); {
	case err != nil:
		return winhost.Host{}, err
	case n.Linux():
		return winhost.Host{}, fmt.Errorf("%w: %s", ErrNotWindows, node)
	}

	h, err := winhost.Load(winnode.HostFile(paths.Node(node)))
	if err != nil {
		if _, statErr := os.Stat(paths.Node(node)); statErr != nil {
			return h, fmt.Errorf("%w: %w", winhost.ErrDown, err)
		}
	}

	return h, err
}
