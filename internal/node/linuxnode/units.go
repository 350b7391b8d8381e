package linuxnode

import (
	"context"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/linuxhost"
	"mullion.dev/mullion/internal/node/linuxservices"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// Units returns the components of one Linux node, in the order they start.
func Units(c Config) ([]component.Unit, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	units := []component.Unit{
		{Component: &host{c}, After: c.After},
		{Component: c.containerdUnit(), After: []component.ID{c.Unit("host")}},
	}

	if c.Bare {
		services := component.Unit{Component: c.servicesUnit(), After: []component.ID{c.Unit("containerd")}}

		return append(units, services), nil
	}

	units = append(units,
		component.Unit{
			Component: c.kubeletUnit(),
			After:     append([]component.ID{c.Unit("containerd")}, c.KubeletAfter...),
		})

	if !c.NoProxy {
		units = append(units, component.Unit{
			Component: c.proxyUnit(),
			After:     append([]component.ID{c.KubeletUnit()}, c.ProxyAfter...),
		})
	}

	return units, nil
}

// host is the component of the node's namespaces, files and network rules.
type host struct{ Config }

// ID implements component.Component.
func (h *host) ID() component.ID { return h.Unit("host") }

// Start writes the files and makes the namespaces, or finds them. At that time nothing runs in the host but containers
// and containerd's shims.
func (h *host) Start(ctx context.Context) error {
	if err := h.hasIPTables(); err != nil {
		return err
	}
	if err := h.writeHost(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(kubenode.OwnDir(h.Dir), 0o755); err != nil {
		return err
	}
	if err := h.Host().Ensure(ctx, []string{filepath.Join(h.Bin, "mullion-node"), "linux-host"}); err != nil {
		return err
	}

	if h.Bare {
		return nil // what its pods' network is to be is a person's business
	}
	nat := linuxhost.NAT{
		Netns:  h.Netns,
		Pods:   valid(h.PodSubnet, h.PodSubnet6),
		Inside: h.inside(),
		Routed: !h.NoCNI,
	}

	if h.Overlay {
		nat.TunnelPort = podnet.VXLANPort
	}
	return nat.Apply(ctx)
}

// inside returns the subnets that pods reach under their own addresses.
func (c Config) inside() []netip.Prefix {
	if c.Overlay {
		return []netip.Prefix{c.PodSubnet, c.ServiceSubnet}
	}
	return valid(c.PodSubnet, c.ServiceSubnet, c.NodeSubnet, c.PodSubnet6, c.ServiceSubnet6, c.NodeSubnet6)
}

// valid leaves out the IPv6 subnets that a node without IPv6 does not have.
func valid(subnets ...netip.Prefix) []netip.Prefix {
	return slices.DeleteFunc(subnets, func(p netip.Prefix) bool { return !p.IsValid() })
}

// Stop leaves the host in place: containers live on in it.
func (h *host) Stop(context.Context) error { return nil }

// environment of the node's programs; containerd finds its shim, and everything else runc, nft and mount, in PATH. The
// programs idle most of the time, and their memory counts more here than their processor time (GOGC).
func environment() []string {
	return []string{
		"PATH=" + programsDir + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root", "GOGC=50",
	}
}

// program returns how a program of the node is started. path is the host's.
func (c Config) program(path string, args ...string) proc.Spec {
	return proc.Spec{
		Path:    path,
		Args:    args,
		Env:     environment(),
		Starter: c.Host().Start,
	}
}

// logging returns how a program of the node that has the flag --log-level is started: at the level that there is then.
func (c Config) logging(path string, args ...string) proc.Spec {
	s := c.program(path, args...)
	s.Starter = func(ctx context.Context, cmd *exec.Cmd) error {
		level, _ := logging.Load(c.LogLevelFile) // what is no level is the usual one; the supervisor says so
		cmd.Args = append(cmd.Args, "--log-level", level.String())
		return c.Host().Start(ctx, cmd)
	}
	return s
}

// kubernetes returns how one of Kubernetes' programs is started, or a person's own in its place.
func (c Config) kubernetes(name string, args []string) proc.Spec {
	s := c.program(c.kubernetesPath(name), args...)
	s.Starter = func(ctx context.Context, cmd *exec.Cmd) error {
		cmd.Path = c.kubernetesPath(name)
		cmd.Args[0] = cmd.Path
		return c.Host().Start(ctx, cmd)
	}
	return s
}

// kubernetesPath returns where the host has one of Kubernetes' programs, or a person's own.
func (c Config) kubernetesPath(name string) string {
	if _, own := kubenode.OwnProgram(c.Dir, name); own {
		return filepath.Join(ownDir, name)
	}
	return filepath.Join(kubernetesDir, name)
}

// containerdUnit returns the node's containerd; ready means that its CRI answers and the pause image is there.
func (c Config) containerdUnit() component.Component {
	folder := programsDir
	if c.oldRuntime() {
		folder = kubernetesDir
	}
	s := c.logging(filepath.Join(folder, "containerd"), "--config", containerdConfig)
	s.Env = append(s.Env, c.PullEnviron...)
	if c.oldRuntime() { // its own shim comes before that of containerd 2.x
		s.Env[0] = strings.Replace(s.Env[0], "PATH=", "PATH="+kubernetesDir+":", 1)
	}
	s.Ready = c.criReady
	p := c.Process("containerd", s, nil)
	p.Complete = c.ensurePause
	if !c.Bare { // its runtime waits for a CNI configuration of a person's
		p.Health = func(ctx context.Context) error {
			return kubenode.RuntimeHealth(ctx, func(ctx context.Context) (net.Conn, error) {
				return unixsocket.Dialer(Socket(c.RunDir))(ctx, "", "")
			})
		}
	}
	return p
}

// servicesUnit keeps the services of a bare host.
func (c Config) servicesUnit() component.Component {
	s := c.logging(filepath.Join(programsDir, "mullion-node"), "linux-services", "--path", c.Host().PATH(), "--marker",
		c.Marker)
	s.Ready = func(ctx context.Context) error {
		conn, err := unixsocket.Dialer(linuxhost.Run(c.RunDir, strings.TrimPrefix(linuxservices.Socket, "/run/")))(ctx,
			"", "")
		if err != nil {
			return err
		}
		return conn.Close()
	}
	s.StopTimeout = linuxservices.StopPatience
	return c.Process("services", s, nil)
}

// kubeletUnit returns the unit of upstream's kubelet.
func (c Config) kubeletUnit() component.Component {
	n := c.node()
	return n.Kubelet(c.kubernetes(kubenode.Kubelet, n.KubeletArgs()))
}

// proxyUnit returns the unit of upstream's kube-proxy.
func (c Config) proxyUnit() component.Component {
	s := c.kubernetes(kubenode.KubeProxy, c.ProxyArgs())
	s.ReadyTimeout = 2 * time.Minute
	return c.node().KubeProxy(s, nil)
}
