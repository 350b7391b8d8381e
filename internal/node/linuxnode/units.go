package linuxnode

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/linuxhost"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// Units are the components of one Linux node, in the order they start.
func Units(c Config) ([]component.Unit, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	units := []component.Unit{
		{Component: &host{c}, After: c.After},
		{Component: c.containerdUnit(), After: []string{c.unit("host")}},
		{Component: c.kubeletUnit(), After: append([]string{c.unit("containerd")}, c.KubeletAfter...)},
	}
	if !c.NoProxy {
		units = append(units, component.Unit{
			Component: c.proxyUnit(),
			After:     slices.Concat([]string{c.unit("host")}, c.KubeletAfter, c.ProxyAfter),
		})
	}
	return units, nil
}

// host is the component of the node's namespaces, files and network rules.
type host struct{ Config }

// Name is the component's name.
func (h *host) Name() string { return h.unit("host") }

// Start writes the files and makes the namespaces, or finds them. Nothing of the host runs then but containers and
// their shims.
func (h *host) Start(ctx context.Context) error {
	if err := h.writeHost(); err != nil {
		return err
	}
	if err := h.Host().Ensure(ctx, []string{filepath.Join(h.Bin, "mullion-node"), "linux-host"}); err != nil {
		return err
	}
	return linuxhost.NAT{
		Netns:     h.Netns,
		Pods:      h.PodSubnet,
		Inside:    h.inside(),
		DualStack: h.PodSubnet6.IsValid(),
	}.Apply(ctx)
}

// inside are the networks that know pods' addresses.
func (c Config) inside() []netip.Prefix {
	if c.Overlay {
		return []netip.Prefix{c.PodSubnet, c.ServiceSubnet}
	}
	return []netip.Prefix{c.PodSubnet, c.ServiceSubnet, c.NodeSubnet}
}

// Stop leaves the host in place: containers live on in it.
func (h *host) Stop(context.Context) error { return nil }

// process is a process that needs something done before it starts, or before it counts as started.
type process struct {
	*proc.Process
	before func() error
	after  func(context.Context) error
	// health is asked, beside whether the process is ready, when somebody wants to know whether it works; nil: nothing
	// more.
	health func(context.Context) error
}

// Probe implements component.Prober.
func (p *process) Probe(ctx context.Context) error {
	if err := p.Process.Probe(ctx); err != nil || p.health == nil {
		return err
	}
	return p.health(ctx)
}

// Start prepares and starts the process.
func (p *process) Start(ctx context.Context) error {
	if err := p.before(); err != nil {
		return fmt.Errorf("prepare %s: %w", p.Name(), err)
	}
	if err := p.Process.Start(ctx); err != nil || p.after == nil {
		return err
	}
	if err := p.after(ctx); err != nil {
		return fmt.Errorf("complete %s: %w", p.Name(), err)
	}
	return nil
}

// environment of the node's programs; containerd finds its shim, and everything else runc, nft and mount, in PATH. The
// programs idle most of the time, and their memory counts more here than their processor time (GOGC).
func environment() []string {
	return []string{
		"PATH=" + programsDir + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root", "GOGC=50",
	}
}

func (c Config) logPath(part string) string { return filepath.Join(c.LogDir, part, c.Name+".log") }

// spec is what the node's processes have in common.
func (c Config) spec(part string, ready func(context.Context) error, program string, args ...string) proc.Spec {
	return proc.Spec{
		Name:    c.unit(part),
		Path:    filepath.Join(programsDir, program),
		Args:    args,
		Env:     environment(),
		Marker:  c.Marker,
		LogPath: c.logPath(part),
		Starter: c.Host().Start,
		Ready:   ready,
	}
}

// prepared is a process whose files are written before it starts.
func (c Config) prepared(part string, spec proc.Spec, write func() error) *process {
	return &process{Process: proc.New(spec), before: func() error {
		if err := os.MkdirAll(filepath.Dir(c.logPath(part)), 0o700); err != nil {
			return err
		}
		return write()
	}}
}

// containerdUnit is the node's containerd; ready means that its CRI answers and the pause image is there.
func (c Config) containerdUnit() component.Component {
	p := c.prepared("containerd", c.spec("containerd", c.criReady, "containerd", "--config", containerdConfig),
		func() error { return nil })
	p.after = c.ensurePause
	p.health = func(ctx context.Context) error {
		return kubenode.RuntimeHealth(ctx, func(ctx context.Context) (net.Conn, error) {
			return unixsocket.Dialer(c.Socket())(ctx, "", "")
		})
	}
	return p
}

// kubeletUnit is upstream's kubelet. Ready means that its health endpoint answers; that the node is Ready is seen in
// the API.
func (c Config) kubeletUnit() component.Component {
	probe := kubenode.HealthProbe(c.Netns, kubenode.KubeletHealthPort)
	ready := func(ctx context.Context) error { _, err := probe(ctx); return err }
	args := append([]string{"component", Kubelet}, c.KubeletArgs()...)
	return c.prepared(Kubelet, c.spec(Kubelet, ready, filepath.Base(c.Program), args...), c.writeKubelet)
}

// proxyUnit is upstream's kube-proxy; ready means that the services there are can be reached from the node and its
// pods. It waits by itself until the node is registered.
func (c Config) proxyUnit() component.Component {
	probe := kubenode.HealthProbe(c.Netns, kubenode.ProxyHealthPort)
	ready := func(ctx context.Context) error {
		answer, err := probe(ctx)
		if err != nil {
			return err
		}
		return kubenode.ProxySynced(answer)
	}
	args := append([]string{"component", KubeProxy}, c.ProxyArgs()...)
	s := c.spec(KubeProxy, ready, filepath.Base(c.Program), args...)
	s.ReadyTimeout = 2 * time.Minute
	return c.prepared(KubeProxy, s, c.writeProxy)
}
