package winnode

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"

	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/windows/winver"
)

// Units are the components of one Windows host, in the order they start.
func Units(c Config) ([]component.Unit, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	units := []component.Unit{
		{Component: &prefix{c}, After: c.After},
		{Component: c.hostUnit(), After: []string{c.unit("prefix")}},
		{Component: c.agentUnit(), After: []string{c.unit("host")}},
		{Component: c.kubeletUnit(), After: []string{c.unit("agent")}},
	}
	// On a build without HNS v2 upstream's kube-proxy.exe panics, here as on Windows; such a node is without Services.
	if c.Build.Supports(winver.HNSv2) && c.Network.Mode.Services() && !c.NoProxy {
		units = append(units, component.Unit{
			Component: c.proxyUnit(),
			After:     append([]string{c.KubeletUnit()}, c.ProxyAfter...),
		})
	}
	return units, nil
}

func (c Config) logPath(part string) string { return filepath.Join(c.LogDir, part, c.Name+".log") }

// Process is a process that needs files written, or folders made, before it starts.
type Process struct {
	*proc.Process
	prepare func() error
	// health is asked, beside whether the process is ready, when somebody wants to know whether it works; nil: nothing
	// more.
	health func(context.Context) error
}

// Probe implements component.Prober.
func (p *Process) Probe(ctx context.Context) error {
	if err := p.Process.Probe(ctx); err != nil || p.health == nil {
		return err
	}
	return p.health(ctx)
}

// Start prepares and starts the process.
func (p *Process) Start(ctx context.Context) error {
	if err := p.prepare(); err != nil {
		return fmt.Errorf("prepare %s: %w", p.Name(), err)
	}
	return p.Process.Start(ctx)
}

// linuxEnv is the environment of mullion-node.
func linuxEnv() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
}

// running is the host as it was written by the prefix component.
func (c Config) running() (winhost.Host, error) { return winhost.Load(c.HostFile()) }

// hostUnit is the host's first process.
func (c Config) hostUnit() component.Component {
	return &Process{
		prepare: func() error { return os.MkdirAll(filepath.Dir(c.logPath("host")), 0o700) },
		Process: proc.New(proc.Spec{
			Name:    c.unit("host"),
			Path:    c.NodeProgram,
			Args:    []string{"host-init", "--host", c.HostFile()},
			Env:     linuxEnv(),
			Marker:  c.Marker,
			LogPath: c.logPath("host"),
			Netns:   c.Netns,
			Starter: func(ctx context.Context, cmd *exec.Cmd) error {
				h, err := c.running()
				if err != nil {
					return err
				}
				return h.StartInit(ctx, cmd)
			},
			Ready: func(ctx context.Context) error {
				h, err := c.running()
				if err != nil {
					return err
				}
				return h.Ready(ctx)
			},
		}),
	}
}

// agentUnit is the HNS and CRI server. It is in the host's network namespace only: it makes mounts that the machine has
// to see.
func (c Config) agentUnit() component.Component {
	config := filepath.Join(c.Dir, "agent.json")
	addr := func(port uint16) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
	}
	dial := func(ctx context.Context) (net.Conn, error) {
		return proc.DialIn(c.Netns)(ctx, "tcp", addr(CRIPort).String())
	}
	return &Process{
		health: func(ctx context.Context) error { return kubenode.RuntimeHealth(ctx, dial) },
		prepare: func() error {
			if err := os.MkdirAll(filepath.Dir(c.logPath("agent")), 0o700); err != nil {
				return err
			}
			a := agentconfig.Config{
				Node:                c.Name,
				Address:             c.Address,
				Windows:             c.Build.Name,
				HostFile:            c.HostFile(),
				Drive:               c.drive(),
				SystemDir:           c.System().Dir,
				StateDir:            c.Dir,
				RunDir:              c.RunDir,
				HNS:                 addr(HNSPort),
				CRI:                 addr(CRIPort),
				TokenFile:           c.TokenFile(),
				ContainerdSocket:    c.ContainerdSocket,
				ContainerdNamespace: c.ContainerdNamespace,
				CgroupParent:        c.CgroupParent,
				PodSubnet:           c.PodSubnet,
				ServiceSubnet:       c.ServiceSubnet,
				NodeSubnet:          c.NodeSubnet,
				IPv6:                c.IPv6,
				Network:             c.Network,
			}
			return a.Save(config)
		},
		Process: proc.New(proc.Spec{
			Name:    c.unit("agent"),
			Path:    c.NodeProgram,
			Args:    []string{"serve", "--config", config},
			Env:     linuxEnv(),
			Marker:  c.Marker,
			LogPath: c.logPath("agent"),
			Netns:   c.Netns,
			Ready: func(ctx context.Context) error {
				conn, err := dial(ctx)
				if err != nil {
					return err
				}
				return conn.Close()
			},
		}),
	}
}

// kubeletUnit is upstream's kubelet.exe. Ready means that its health endpoint answers; that the node is Ready is seen
// in the API.
func (c Config) kubeletUnit() component.Component {
	probe := kubenode.HealthProbe(c.Netns, kubenode.KubeletHealthPort)
	ready := func(ctx context.Context) error { _, err := probe(ctx); return err }
	args := func(context.Context) ([]string, error) { return c.KubeletArgs(), nil }
	return c.windowsUnit("kubelet", c.writeKubelet, ready, kubeletExe, args)
}

// windowsUnit is one of upstream's programs on the host, at a Windows path. Its arguments are asked for at each start.
func (c Config) windowsUnit(name string, prepare func() error, ready func(context.Context) error, program string,
	args func(context.Context) ([]string, error),
) component.Component {
	return &Process{
		prepare: func() error {
			if err := os.MkdirAll(filepath.Dir(c.logPath(name)), 0o700); err != nil {
				return err
			}
			return prepare()
		},
		Process: proc.New(proc.Spec{
			Name:    c.unit(name),
			Path:    "/proc/self/exe", // replaced by the loader, which is known when the host is up
			Marker:  c.Marker,
			LogPath: c.logPath(name),
			Netns:   c.Netns,
			Starter: func(ctx context.Context, cmd *exec.Cmd) error {
				h, err := c.running()
				if err != nil {
					return err
				}
				flags, err := args(ctx)
				if err != nil {
					return err
				}
				windows := h.Command(ctx, program, flags...)
				cmd.Path, cmd.Args, cmd.Env, cmd.Dir = windows.Path, windows.Args, windows.Env, windows.Dir
				return h.Start(ctx, cmd)
			},
			Ready: ready,
		}),
	}
}
