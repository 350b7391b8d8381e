package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
)

// hostNetwork is the component of a host's place on the underlay. It outlives a supervisor.
type hostNetwork struct {
	underlay *underlay.Underlay
	host     string
	address  netip.Addr
	server   string // the API server's host:port
}

// Name is the component's name.
func (h *hostNetwork) Name() string { return "network/" + h.host }

// Start makes or mends the host's namespace and link.
func (h *hostNetwork) Start(ctx context.Context) error {
	return h.underlay.AddHost(ctx, h.host, h.address)
}

// Probe implements component.Prober: does a packet come from the host to the API server, and an answer back? That
// nobody listens there is an answer.
func (h *hostNetwork) Probe(ctx context.Context) error {
	conn, err := proc.DialIn(h.underlay.HostNetns(h.host))(ctx, "tcp", h.server)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the node does not reach the API server: %w", err)
	}
	return conn.Close()
}

// Stop leaves the network in place.
func (h *hostNetwork) Stop(context.Context) error { return nil }

// apiServer is host:port by which nodes reach the API server.
func (c *composer) apiServer() string {
	if !c.Spec.Foreign() {
		return c.APIServer.String()
	}
	host, err := hostPort(c.access.server)
	if err != nil {
		return c.access.server // the probe says what is wrong with it
	}
	return host
}

// selfSigned says that kubelets sign their serving certificates themselves, which is kubeadm's default.
func (c *composer) selfSigned() bool {
	return c.Spec.Foreign() && !c.Spec.Join.Foreign.ServerTLSBootstrap
}

func (c *composer) hosts() error {
	if len(c.Hosts) == 0 {
		return nil
	}
	layer := winnode.NewSystemLayer(c.wineOptions())
	c.add(layer)
	for _, h := range c.Hosts {
		network := &hostNetwork{underlay: c.underlay, host: h.Name, address: h.Address, server: c.apiServer()}
		c.add(network, "fabric")
		config := c.hostConfig(h, layer.System)
		config.After = append([]string{layer.Name(), network.Name(), "containerd"}, c.access.nodes...)
		config.ProxyAfter = c.identity(h.Name, config.Identity(), config.KubeletUnit())
		c.serving(h.Name, config.Identity(), config.KubeletUnit())
		units, err := winnode.Units(config)
		if err != nil {
			return err
		}
		c.units = append(c.units, c.foreignUnits(units, h.Name, config.ProxyUnit())...)
		c.add(&nodeReady{
			node:   h.Name,
			client: c.access.client,
			noCNI:  c.Spec.Networking.DisableDefaultCNI,
			since:  time.Now(),
		}, config.KubeletUnit(), "pod-routes")
	}
	return nil
}

func (c *composer) wineOptions() wine.Options {
	o := wine.Options{
		Dir:        c.Paths.Wine(),
		ShimDir:    c.Paths.Program("windows/shim"),
		InitBinary: c.Paths.Program("mullion-init"),
		Log:        c.Log,
	}
	seen := map[string]bool{}
	for _, h := range c.Hosts {
		if !seen[h.Build.Name] {
			seen[h.Build.Name] = true
			o.Builds = append(o.Builds, h.Build)
		}
	}
	return o
}

func (c *composer) hostConfig(h Host, system func() *wine.System) winnode.Config {
	n := c.Spec.Networking
	config := winnode.Config{
		Name:                h.Name,
		Build:               h.Build,
		Address:             h.Address,
		Dir:                 c.Paths.Node(h.Name),
		RunDir:              c.Paths.NodeRun(h.Name),
		Netns:               c.underlay.HostNetns(h.Name),
		NodeProgram:         c.Paths.Program("mullion-node"),
		Programs:            c.Paths.Program("windows"),
		ProgramsDir:         c.Paths.WinePrograms(),
		LogDir:              c.Paths.Logs(),
		Marker:              c.Paths.Data,
		System:              system,
		Server:              c.access.server,
		CAFile:              c.access.caFile,
		BootstrapKubeconfig: c.access.bootstrap,
		ProxyKubeconfig:     c.access.proxy,
		ContainerdSocket:    c.Paths.ContainerdSocket(),
		ContainerdNamespace: layout.EngineNamespace,
		CgroupParent:        c.Paths.CgroupParent() + "/" + h.Name,
		PodSubnet:           n.Pods(),
		ServiceSubnet:       n.Services(),
		NodeSubnet:          n.Underlay(),
		ClusterDNS:          c.Spec.DNS(),
		ClusterDomain:       c.Spec.Domain(),
		SelfSigned:          c.selfSigned(),
		Taint:               h.Taint,
		Labels:              h.Labels,
		SystemReserved:      h.SystemReserved,
		KubeReserved:        h.KubeReserved,
		Network: agentconfig.Network{
			Mode:    n.Mode,
			Profile: n.Profile,
			Shared:  h.Shared,
			NoCNI:   n.DisableDefaultCNI,
		},
		EnableDSR: n.EnableDSR,
		NoProxy:   n.KubeProxyMode == spec.KubeProxyNone,
	}
	if c.Spec.Foreign() {
		config.NodeSubnet = netip.Prefix{} // others on that network than nodes do not know pods' addresses
	}
	if h.Address6.IsValid() {
		config.Address6, config.IPv6 = h.Address6, agentconfig.Subnets{
			Pods:     n.Pods6(),
			Services: n.Services6(),
			Nodes:    n.Underlay6(),
		}
	}
	return config
}

// HostPrefix is where the Wine prefix of a cluster's Windows host is mounted.
func HostPrefix(paths layout.Paths, node string) string {
	return winnode.Config{Dir: paths.Node(node)}.Prefix()
}

// ErrNotWindows says that a node is not a Windows node.
var ErrNotWindows = errors.New("not a Windows node")

// LoadHost describes a Windows host of the cluster that is up: os.ErrNotExist where no cluster is, NotFoundError where
// the cluster has no such node.
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
	h, err := winhost.Load(winnode.Config{Dir: paths.Node(node)}.HostFile())
	if err != nil {
		if _, statErr := os.Stat(paths.Node(node)); statErr != nil {
			return h, fmt.Errorf("%w: %w", winhost.ErrDown, err)
		}
	}
	return h, err
}
