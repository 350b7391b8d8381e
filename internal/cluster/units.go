package cluster

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/kubernetes"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/clusterdns"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/winver"
)

// UnitOptions is what units need besides the plan.
type UnitOptions struct {
	// Executable is the mullion program, which is also the control plane's programs.
	Executable string
	Log        *slog.Logger
}

// composer puts the units of one plan together.
type composer struct {
	Plan
	UnitOptions
	underlay *underlay.Underlay
	control  controlplane.Config
	access   access
	units    []component.Unit
}

// access is how the machine's nodes, and what the machine does for them, reach the API.
type access struct {
	// server is the API server's URL for nodes, caFile its authority, bootstrap a kubeconfig with a bootstrap token,
	// and proxy one for kube-proxy, "" for the kubelet's own.
	server, caFile, bootstrap, proxy string
	// nodes are the units that must be ready before a kubelet asks for its certificate, machine those before client can
	// be used.
	nodes, machine []string
	client         func() (kubernetes.Interface, error)
}

// Units are the parts of a cluster, in an order in which they could be started one after the other.
func Units(p Plan, o UnitOptions) ([]component.Unit, error) {
	u, err := newUnderlay(p)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &composer{Plan: p, UnitOptions: o, underlay: u}
	c.add(&fabric{u})
	steps := []func() error{
		c.controlPlane, // etcd, API server, controller manager, scheduler, and the objects a fresh API needs
		c.dns,          // CoreDNS
		c.metrics,      // metrics-server
		c.storage,      // volumes on the nodes' disks
		c.routes,       // to other machines and to pods
		c.engine,       // containerd
		c.hosts,        // the Wine system layer; each Windows host: namespaces, HNS and CRI server, kubelet.exe
		c.linuxHosts,   // each Linux host: namespaces, containerd, kubelet
	}
	if p.Spec.Join != nil {
		steps = append([]func() error{c.joined}, steps[4:]...) // another machine's control plane
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c.units, nil
}

func (c *composer) add(part component.Component, after ...string) {
	c.units = append(c.units, component.Unit{Component: part, After: after})
}

func (c *composer) controlPlane() error {
	n := c.Spec.Networking
	outside := net.JoinHostPort(n.APIServerAddress, strconv.Itoa(n.APIServerPort))
	inside, sans, err := reachedAs(n.APIServerAddress, n.APIServerPort)
	if err != nil {
		return err
	}
	c.control = controlplane.Config{
		Name:           c.Spec.Name,
		Program:        c.Executable,
		ProgramArgs:    []string{"component"},
		Dir:            c.Paths.Data,
		RunDir:         c.Paths.Run(),
		LogDir:         c.Paths.Logs(),
		Marker:         c.Paths.Data,
		Netns:          c.underlay.FabricNetns(),
		Address:        c.APIServer,
		ExtraSANs:      sans,
		AdminServer:    "https://" + inside,
		PodSubnet:      n.Pods(),
		ServiceSubnet:  n.Services(),
		PodSubnet6:     n.Pods6(),
		ServiceSubnet6: n.Services6(),
		After:          []string{"fabric"},
		NodeNetworks:   nodeNetworks(n),
		Domain:         spec.ClusterDomain,
		Log:            c.Log,
		DNS: bootstrap.DNS{
			ClusterIP:   n.ClusterDNS(),
			Address:     c.APIServer.Addr(),
			Port:        clusterdns.Port,
			MetricsPort: clusterdns.MetricsPort,
		},
	}
	for _, h := range c.Hosts {
		c.control.Windows = append(c.control.Windows, h.Build)
	}
	if c.Spec.SeveralMachines() {
		text, err := machines.Published(c.Spec)
		if err != nil {
			return err
		}
		c.control.Windows = winver.All() // any may join
		c.control.Machines = bootstrap.Machines{
			Address:       c.Spec.Address(),
			Server:        c.Spec.Networking.AdvertisedServer(),
			Parts:         n.Parts(),
			Specification: text,
		}
	}
	units, err := controlplane.Units(c.control)
	if err != nil {
		return err
	}
	c.units = append(c.units, units...)
	c.add(&forwarder{
		listen: outside,
		target: c.APIServer.String(),
		dial:   proc.DialIn(c.underlay.FabricNetns()),
		log:    c.Log,
	}, "fabric")
	c.add(c.loadBalancer(), controlplane.Bootstrap, "api-forwarder")
	c.access = access{
		server:    c.control.Server(),
		caFile:    filepath.Join(c.control.PKIDir(), pki.CA+".crt"),
		bootstrap: c.control.BootstrapKubeconfig(),
		proxy:     c.control.Kubeconfig(pki.KubeProxy()),
		nodes:     []string{controlplane.Bootstrap},
		machine:   []string{controlplane.APIServer, "api-forwarder"},
		client:    func() (kubernetes.Interface, error) { return clientFor(c.Paths.AdminKubeconfig()) },
	}
	return nil
}

// routes are what the machine's network has to follow.
func (c *composer) routes() error {
	routes := &podRoutes{client: c.access.client, set: c.podRoute(), seen: c.observer(), log: c.Log}
	if c.Spec.Foreign() {
		c.add(c.foreign(routes, c.names()[0]), c.access.machine...)
		return nil
	}
	c.add(routes, c.access.machine...)
	if c.Spec.SeveralMachines() {
		c.add(&peers{
			client:   c.access.client,
			underlay: c.underlay,
			log:      c.Log,
		}, append([]string{"fabric"}, c.access.machine...)...)
	}
	return nil
}

func (c *composer) dns() error {
	server, err := clusterdns.New(clusterdns.Config{
		Program:  c.Paths.Program("coredns"),
		RunDir:   c.Paths.Run(),
		ZonesDir: c.Paths.DNSZones(),
		LogDir:   c.Paths.Logs(),
		Marker:   c.Paths.Data,
		Netns:    c.underlay.FabricNetns(),
		Address:  c.APIServer.Addr(),
		Domain:   spec.ClusterDomain,
		PKIDir:   c.control.PKIDir(),
		Cluster:  c.Spec.Name,
		Server:   c.control.Server(),
	}, c.Log)
	if err != nil {
		return err
	}
	c.add(server, controlplane.Bootstrap)
	return nil
}

// reachedAs is host:port by which this machine reaches the API server when it listens on address, and all names and
// addresses it may be reached by: those of the machine when it listens on every one.
func reachedAs(address string, port int) (inside string, sans []string, err error) {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "", nil, err
	}
	sans = []string{"localhost", "127.0.0.1"}
	if !ip.IsUnspecified() {
		return net.JoinHostPort(address, strconv.Itoa(port)), append(sans, address), nil
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", nil, err
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() {
			sans = append(sans, p.Addr().String())
		}
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), sans, nil
}

func (c *composer) engine() error {
	daemon := engine.DaemonConfig{
		Root:   c.Paths.ContainerdRoot(),
		State:  c.Paths.EngineState(),
		Socket: c.Paths.ContainerdSocket(),
	}
	config := c.Paths.ContainerdConfig()
	c.add(&containerd{
		Process: proc.New(proc.Spec{
			Name: "containerd",
			Path: c.Paths.Program("containerd"),
			Args: []string{"--config", config},
			// containerd finds its shim in PATH
			Env:     []string{"PATH=" + c.Paths.Bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
			Marker:  c.Paths.Data,
			LogPath: filepath.Join(c.Paths.Logs(), "containerd.log"),
			Ready:   func(ctx context.Context) error { return dialUnix(ctx, daemon.Socket) },
		}),
		daemon: daemon,
		config: config,
	})
	return nil
}

// containerd is the engine's process with its configuration.
type containerd struct {
	*proc.Process
	daemon engine.DaemonConfig
	config string
}

// Start writes the configuration and starts the daemon.
func (c *containerd) Start(ctx context.Context) error {
	if err := c.daemon.Write(c.config); err != nil {
		return err
	}
	return c.Process.Start(ctx)
}

func dialUnix(ctx context.Context, path string) error {
	conn, err := unixsocket.Dialer(path)(ctx, "", "")
	if err != nil {
		return err
	}
	return conn.Close()
}
