package cluster

import (
	"time"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/linuxhost"
	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/spec"
)

// linuxHosts are the Linux hosts with their nodes.
func (c *composer) linuxHosts() error {
	for _, h := range c.LinuxHosts {
		network := &parts.HostNetwork{
			Underlay: c.underlay,
			Host:     h.Name,
			Address:  h.Address,
			Server:   c.apiServer(),
		}
		c.add(network, parts.FabricUnit())
		config := c.linuxConfig(h)
		config.After = []component.ID{network.ID()}
		if !h.Bare {
			config.KubeletAfter = c.access.kubeletAfter
			config.ProxyAfter = c.proxyAfter(config.Config, linuxnode.Identity(config.Dir), !config.NoProxy)
		}

		units, err := linuxnode.Units(config)
		if err != nil {
			return err
		}
		c.units = append(c.units, units...)
		if h.Bare {
			continue
		}

		c.add(&parts.NodeReady{
			Node:   h.Name,
			Client: c.access.client,
			NoCNI:  c.Spec.Networking.DisableDefaultCNI,
			Since:  time.Now(),
		}, config.KubeletUnit(), parts.PodRoutesUnit())
	}

	return nil
}

func (c *composer) linuxConfig(h LinuxHost) linuxnode.Config {
	n, mtu := c.Spec.Networking, 0
	if c.Spec.SeveralMachines() {
		mtu = underlay.TunnelMTU
	}
	return linuxnode.Config{
		Config:     c.nodeConfig(h.Node, h.Address, h.Address6),
		Bin:        c.Paths.Bin,
		Kubernetes: c.Paths.Kubernetes(nodeVersion(c.Spec, h.Node)).Server(),
		Overlay:    n.Mode == spec.ModeOverlay,
		UplinkMTU:  mtu,
		NoCNI:      n.DisableDefaultCNI,
	}
}

// LoadLinuxHost describes the host of a Linux node of the cluster that is up; false means that the node is a Windows
// node. It returns os.ErrNotExist if there is no cluster, and a NotFoundError if the cluster has no such node.
func LoadLinuxHost(paths layout.Paths, node string) (linuxhost.Host, bool, error) {
	c, err := paths.LoadSpec()
	if err != nil {
		return linuxhost.Host{}, false, err
	}
	n, err := findNode(c, node)
	if err != nil || !n.Linux() {
		return linuxhost.Host{}, false, err
	}

	p, err := NewPlan(c, paths)
	if err != nil {
		return linuxhost.Host{}, false, err
	}
	u, err := newUnderlay(p)
	if err != nil {
		return linuxhost.Host{}, false, err
	}

	config := linuxnode.Config{
		Config: kubenode.Config{
			Name:   node,
			Dir:    paths.Node(node),
			RunDir: paths.NodeRun(node),
			Netns:  u.HostNetns(node),
			Cgroup: paths.CgroupParent() + "/" + node,
			Bare:   n.Bare,
		},
		Bin:        paths.Bin,
		Kubernetes: paths.Kubernetes(nodeVersion(c, n)).Server(),
	}

	return config.Host(), true, nil
}
