package winnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/registries"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/winver"
	"mullion.dev/mullion/internal/windows/wire/services/keeper"
)

// Units returns the components of one Windows host, in the order they start.
func Units(c Config) ([]component.Unit, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	units := []component.Unit{
		{Component: &prefix{c}, After: c.After},
		{Component: c.hostUnit(), After: []component.ID{c.Unit("prefix")}},
		{Component: c.agentUnit(), After: []component.ID{c.Unit("host")}},
	}

	runtime := c.Unit("agent")
	if c.Containerd != "" {
		runtime = c.ContainerdUnit()
	}

	if !c.Bare {
		units = append(units, component.Unit{
			Component: c.kubeletUnit(),
			After:     append([]component.ID{runtime}, c.KubeletAfter...),
		})
	}

	units = append(units, component.Unit{Component: c.pipesUnit(), After: []component.ID{c.Unit("agent")}})
	if c.Containerd != "" {
		units = append(units, component.Unit{
			Component: c.containerdUnit(),
			After:     []component.ID{c.Unit("agent"), c.Unit("pipes")},
		})
	}

	if c.Docker != "" {
		units = append(units, component.Unit{
			Component: c.dockerUnit(),
			After:     []component.ID{c.Unit("agent"), c.Unit("pipes")},
		})
	}

	if c.HasProxy() {
		units = append(units, component.Unit{
			Component: c.proxyUnit(),
			After:     append([]component.ID{c.KubeletUnit()}, c.ProxyAfter...),
		})
	}

	return units, nil
}

// HasProxy reports whether kube-proxy runs on the node. On a build without HNS v2 upstream's kube-proxy.exe panics,
// here as on Windows; such a node is without Services. An old one calls version 1 there.
func (c Config) HasProxy() bool {
	calls := c.Build.Supports(winver.HNSv2) || version.MinorOf(c.Version) < version.HNSv2Only
	return calls && c.Network.Mode.Services() && !c.NoProxy && !c.Bare
}

// linuxEnv returns the environment of mullion-node.
func linuxEnv() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
}

// running returns the description of the host that the prefix component wrote.
func (c Config) running() (winhost.Host, error) { return winhost.Load(HostFile(c.Dir)) }

// hostUnit returns the host's first process.
func (c Config) hostUnit() component.Component {
	return c.Process("host", proc.Spec{
		Path:  c.NodeProgram,
		Args:  []string{"host-init", "--host", HostFile(c.Dir)},
		Env:   linuxEnv(),
		Netns: c.Netns,
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
	}, nil)
}

// agentUnit returns the HNS and CRI server. It is in the host's network namespace only: it makes mounts that the
// machine has to see.
func (c Config) agentUnit() component.Component {
	config := filepath.Join(c.Dir, "agent.json")
	dial := func(ctx context.Context) (net.Conn, error) {
		return proc.DialIn(c.Netns)(ctx, "tcp", loopback(CRIPort).String())
	}

	p := c.Process("agent", proc.Spec{
		Path:   c.NodeProgram,
		Args:   []string{"serve", "--config", config},
		Env:    append(linuxEnv(), c.PullEnviron...),
		Netns:  c.Netns,
		Cgroup: c.AgentsCgroup,
		Ready:  connects(dial),
	}, func() error { return errors.Join(c.writeRegistries(), c.agent().Save(config)) })

	if !c.Bare { // a kubelet has to tell the runtime of the node's range of pod addresses first
		p.Health = func(ctx context.Context) error { return kubenode.RuntimeHealth(ctx, dial) }
	}
	return p
}

// agent returns what the agent is told.
func (c Config) agent() agentconfig.Config {
	policySocket := ""
	if c.Policies {
		policySocket = PolicySocket(c.RunDir)
	}
	return agentconfig.Config{
		PolicySocket:        policySocket,
		Node:                c.Name,
		Address:             c.Address,
		Windows:             c.Build.Name,
		HostFile:            HostFile(c.Dir),
		Drive:               c.drive(),
		LocalVolumes:        VolumesFolder,
		SystemDir:           c.System().Dir,
		StateDir:            c.Dir,
		RunDir:              c.RunDir,
		HNS:                 loopback(HNSPort),
		CRI:                 loopback(CRIPort),
		TokenFile:           TokenFile(c.Dir),
		ContainerdSocket:    c.ContainerdSocket,
		ContainerdNamespace: c.ContainerdNamespace,
		CgroupParent:        c.Cgroup,
		PodSubnet:           c.PodSubnet,
		ServiceSubnet:       c.ServiceSubnet,
		NodeSubnet:          c.NodeSubnet,
		IPv6: agentconfig.Subnets{
			Pods:     c.PodSubnet6,
			Services: c.ServiceSubnet6,
			Nodes:    c.NodeSubnet6,
		},
		Network:      c.Network,
		Processors:   c.Processors.Count(),
		Places:       c.Places,
		Memory:       c.Memory,
		PauseImage:   c.PauseImage,
		Domains:      c.Domains,
		LogLevelFile: c.LogLevelFile,

		PullDirect:    c.PullDirect,
		RegistryAuths: registries.Auths(c.Registries),
	}
}

// writeRegistries writes how registries are reached, in the place of what an earlier start has written.
func (c Config) writeRegistries() error {
	files, err := registries.Files(c.Registries)
	if err != nil {
		return err
	}
	dir := agentconfig.RegistriesDir(c.Dir)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}

	for name, data := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := atomicfile.Write(file, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func loopback(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
}

// connects returns a probe that is content with a connection.
func connects(dial func(context.Context) (net.Conn, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := dial(ctx)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// kubeletUnit returns the unit of upstream's kubelet.exe.
func (c Config) kubeletUnit() component.Component {
	n := c.node()
	args := func(context.Context) ([]string, error) { return n.KubeletArgs(), nil }
	return c.service(kubenode.Kubelet, n.Kubelet(c.upstream(kubenode.Kubelet, args)), c.named)
}

// named reports whether a process is the kubelet, or kube-proxy, of this node.
func (c Config) named(l proc.Leftover) bool {
	return slices.Contains(l.Args, "--hostname-override="+c.Name)
}

// upstream returns how one of Kubernetes' programs is started, or a person's own in its place: as a service. Its
// arguments are asked for at each start.
func (c Config) upstream(part string, args func(context.Context) ([]string, error)) proc.Spec {
	return c.kept(c.keeper(part), func(ctx context.Context) ([]string, error) {
		flags, err := args(ctx)
		if err != nil {
			return nil, err
		}
		path, err := c.program(kubenode.ProgramName(part, spec.Windows))
		if err != nil {
			return nil, err
		}
		return append([]string{path}, append(flags, "--windows-service")...), nil
	})
}

// kept returns how a program is started as a service, by mullion-service.exe. Its command line is asked for at each
// start.
func (c Config) kept(keep keeper.Options, command func(context.Context) ([]string, error)) proc.Spec {
	state := stateFolder + keep.Name
	return proc.Spec{
		Path:  "/proc/self/exe", // replaced by the loader, which is known when the host is up
		Netns: c.Netns,
		Starter: func(ctx context.Context, cmd *exec.Cmd) error {
			h, err := c.running()
			if err != nil {
				return err
			}
			line, err := command(ctx)
			if err != nil {
				return err
			}

			// One of an earlier start may run until mullion-service.exe has stopped it.
			if err := c.node().WriteFile(state, []byte(keeper.Starting), 0o600); err != nil {
				return err
			}

			with := keep
			with.Command = line
			return startWindows(ctx, cmd, h, wine.ServiceProgram, with.Args()...)
		},
		Ready: func(context.Context) error {
			text, err := c.node().ReadFile(state)
			if err == nil && string(text) == keeper.Starting {
				err = errors.New("its service has not been started yet")
			}
			return err
		},
	}
}

// startWindows turns cmd into one that runs a Windows program on the host, and starts it.
func startWindows(ctx context.Context, cmd *exec.Cmd, h winhost.Host, program string, args ...string) error {
	windows := h.Command(ctx, program, args...)
	cmd.Path = windows.Path
	cmd.Args = windows.Args
	cmd.Env = windows.Env
	cmd.Dir = windows.Dir
	return h.Start(ctx, cmd)
}

// program returns the Windows path of one of upstream's programs, or of the person's own that is to run in its place,
// which is put there.
func (c Config) program(name string) (string, error) {
	node := c.node()
	file, own := kubenode.OwnProgram(c.Dir, name)
	if !own {
		return node.Path(programsFolder + name), node.RemoveAll(ownFolder + name)
	}
	if err := node.CopyProgram(file, ownFolder+name); err != nil {
		return "", fmt.Errorf("put %s on host %q: %w", file, c.Name, err)
	}
	return node.Path(ownFolder + name), nil
}
