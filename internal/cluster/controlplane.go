package cluster

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/controlplane/addon"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/clusterdns"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/winver"
)

// controlPlane is upstream's control plane and the machine's way to it.
func (c *composer) controlPlane() error {
	n := c.Spec.Networking
	outside := net.JoinHostPort(n.APIServerAddress, strconv.Itoa(n.APIServerPort))
	inside, sans, err := reachedAs(n.APIServerAddress, n.APIServerPort)
	if err != nil {
		return err
	}

	own, err := machineAddresses()
	if err != nil {
		return err
	}

	programs := c.Paths.Kubernetes(c.Spec.KubernetesVersion)
	c.control = controlplane.Config{
		Name:           c.Spec.Name,
		Programs:       programs.Server(),
		Etcd:           programs.Etcd(),
		Version:        c.Spec.KubernetesVersion,
		Dir:            c.Paths.Data,
		RunDir:         c.Paths.Run(),
		LogDir:         c.Paths.Logs(),
		Marker:         c.Paths.Data,
		Netns:          c.underlay.FabricNetns(),
		Cgroup:         c.Paths.Cgroup(layout.Control),
		Address:        c.APIServer,
		ExtraSANs:      sans,
		AdminServer:    "https://" + inside,
		PodSubnet:      n.Pods(),
		ServiceSubnet:  n.Services(),
		PodSubnet6:     n.Pods6(),
		ServiceSubnet6: n.Services6(),
		After:          []component.ID{parts.FabricUnit()},
		NodeNetworks:   nodeNetworks(n),
		Reserved:       own,
		ServicePools:   []netip.Prefix{n.LoadBalancers(), n.LoadBalancers6()},
		OwnPorts:       append(kubenode.OwnPorts(), winnode.HNSPort, winnode.CRIPort),
		Domain:         spec.ClusterDomain,
		Log:            c.log,
		DNS: bootstrap.DNS{
			ClusterIP:   n.ClusterDNS(),
			Address:     c.APIServer.Addr(),
			Port:        clusterdns.Port,
			MetricsPort: clusterdns.MetricsPort,
		},
	}

	c.control.MachineAddresses = slices.Concat(c.advertised(), prefixesOf(own))
	c.control.Windows = c.builds()
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
	c.add(&parts.Forwarder{
		Unit: parts.APIForwarder(),
		Listen: func(ctx context.Context) (net.Listener, error) {
			l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", outside)
			if err != nil {
				return nil, fmt.Errorf("listen on %s for the API server: %w", outside, err)
			}
			return l, nil
		},
		Dial: func(ctx context.Context) (net.Conn, error) {
			return proc.DialIn(c.underlay.FabricNetns())(ctx, "tcp", c.APIServer.String())
		},
		Log: c.log,
	}, parts.FabricUnit())

	c.add(c.loadBalancer(), component.Sole(controlplane.Bootstrap), parts.APIForwarder())
	if version.MinorOf(c.Spec.KubernetesVersion) >= version.AdmissionPolicies {
		c.protectOwnAddresses()
	}

	c.access = access{
		server:    c.control.Server(),
		caFile:    filepath.Join(c.control.PKIDir(), pki.CA+".crt"),
		bootstrap: c.control.BootstrapKubeconfig(),
		proxy:     c.control.Kubeconfig(pki.KubeProxy()),
		firstCertificate: func(node string) ([]byte, error) {
			bundle, err := pki.Open(c.control.PKIDir())
			if err != nil {
				return nil, err
			}
			return bundle.Unkept(pki.Kubelet(node), time.Now())
		},
		kubeletAfter: []component.ID{component.Sole(controlplane.Bootstrap)},
		// The administrator's rights are among the objects of the bring-up. Who asks before is refused, and comes back
		// after a second or two.
		machine: []component.ID{component.Sole(controlplane.Bootstrap), parts.APIForwarder()},
		client:  func() (kubeclient.Interface, error) { return clientFor(c.Paths.AdminKubeconfig()) },
	}

	return nil
}

// reachedAs returns host:port by which this machine reaches the API server when it listens on address, and all names
// and addresses for its certificate. If it listens on all addresses, those are the machine's.
func reachedAs(address string, port int) (inside string, sans []string, err error) {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "", nil, err
	}
	sans = []string{"localhost", "127.0.0.1"}
	if !ip.IsUnspecified() {
		return net.JoinHostPort(address, strconv.Itoa(port)), append(sans, address), nil
	}

	own, err := machineAddresses()
	if err != nil {
		return "", nil, err
	}
	for _, a := range own {
		sans = append(sans, a.String())
	}

	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), sans, nil
}

// machineAddresses returns the addresses at which others reach this machine.
func machineAddresses() ([]netip.Addr, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() {
			own = append(own, p.Addr())
		}
	}
	return own, nil
}

// addonPlace is where a program runs beside the control plane.
func (c *composer) addonPlace(program string) addon.Place {
	return addon.Place{
		Program: c.Paths.Program(program),
		RunDir:  c.Paths.Run(),
		LogDir:  c.Paths.Logs(),
		Marker:  c.Paths.Data,
		Netns:   c.underlay.FabricNetns(),
		Cgroup:  c.Paths.Cgroup(layout.Control),
	}
}

// dns is the cluster's CoreDNS.
func (c *composer) dns() error {
	server, err := clusterdns.New(clusterdns.Config{
		Place:    c.addonPlace(clusterdns.Name),
		ZonesDir: c.Paths.DNSZones(),
		Address:  c.APIServer.Addr(),
		Domain:   spec.ClusterDomain,
		Version:  c.Spec.KubernetesVersion,
		PKIDir:   c.control.PKIDir(),
		Cluster:  c.Spec.Name,
		Server:   c.control.Server(),
	}, c.log)
	if err != nil {
		return err
	}

	c.add(server, component.Sole(controlplane.Bootstrap))
	return nil
}

// engine is the containerd of all Windows nodes.
func (c *composer) engine() error {
	daemon := engine.DaemonConfig{
		Root:   c.Paths.ContainerdRoot(),
		State:  c.Paths.EngineState(),
		Socket: c.Paths.ContainerdSocket(),
	}

	config := c.Paths.ContainerdConfig()
	c.add(&parts.Containerd{
		Process: proc.New(proc.Spec{
			ID:   component.Sole("containerd"),
			Path: c.Paths.Program("containerd"),
			Args: []string{"--config", config},
			// containerd finds its shim in PATH
			Env:     []string{"PATH=" + c.Paths.Bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
			Marker:  c.Paths.Data,
			Cgroup:  c.Paths.Cgroup(layout.Agents),
			LogPath: filepath.Join(c.Paths.Logs(), "containerd.log"),
			Starter: func(_ context.Context, cmd *exec.Cmd) error {
				// What is no level is the usual one; the supervisor says so.
				level, _ := logging.Load(c.Paths.LogLevel())
				cmd.Args = append(cmd.Args, "--log-level", level.String())
				return cmd.Start()
			},
			Ready: func(ctx context.Context) error { return dialUnix(ctx, daemon.Socket) },
		}),
		Daemon: daemon,
		Config: config,
	})

	return nil
}

func dialUnix(ctx context.Context, path string) error {
	conn, err := unixsocket.Dialer(path)(ctx, "", "")
	if err != nil {
		return err
	}
	return conn.Close()
}
