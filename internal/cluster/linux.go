package cluster

import (
	"time"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/node/linuxhost"
	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/spec"
)

// linuxHosts are the Linux hosts with their nodes.
func (c *composer) linuxHosts() error {
	for _, h := range c.LinuxHosts {
		network := &parts.HostNetwork{Underlay: c.underlay, Host: h.Name, Address: h.Address, Server: c.apiServer()}
		c.add(network, parts.FabricUnit)
		config := c.linuxConfig(h)
		config.After = []string{network.Name()}
		config.KubeletAfter = c.access.kubeletAfter
		config.ProxyAfter = c.identity(h.Name, config.Identity(), config.KubeletUnit())
		units, err := linuxnode.Units(config)
		if err != nil {
			return err
		}
		c.units = append(c.units, units...)
		c.add(&parts.NodeReady{
			Node:   h.Name,
			Client: c.access.client,
			NoCNI:  c.Spec.Networking.DisableDefaultCNI,
			Since:  time.Now(),
		}, config.KubeletUnit(), parts.PodRoutesUnit)
	}
	return nil
}

func (c *composer) linuxConfig(h LinuxHost) linuxnode.Config {
	n, mtu := c.Spec.Networking, 0
	if c.Spec.SeveralMachines() {
		mtu = underlay.TunnelMTU
	}
	return linuxnode.Config{
		Name:                h.Name,
		Address:             h.Address,
		Dir:                 c.Paths.Node(h.Name),
		RunDir:              c.Paths.NodeRun(h.Name),
		Netns:               c.underlay.HostNetns(h.Name),
		Bin:                 c.Paths.Bin,
		Program:             c.Executable,
		LogDir:              c.Paths.Logs(),
		Marker:              c.Paths.Data,
		Cgroup:              c.Paths.CgroupParent() + "/" + h.Name,
		Server:              c.access.server,
		CAFile:              c.access.caFile,
		BootstrapKubeconfig: c.access.bootstrap,
		ProxyKubeconfig:     c.access.proxy,
		PodSubnet:           n.Pods(),
		ServiceSubnet:       n.Services(),
		NodeSubnet:          n.Underlay(),
		Address6:            h.Address6,
		PodSubnet6:          n.Pods6(),
		ClusterDNS:          c.Spec.DNS(),
		ClusterDomain:       c.Spec.Domain(),
		Taint:               h.Taint,
		Labels:              h.Labels,
		SystemReserved:      h.SystemReserved,
		KubeReserved:        h.KubeReserved,
		Overlay:             n.Mode == spec.ModeOverlay,
		UplinkMTU:           mtu,
		NoProxy:             n.KubeProxyMode == spec.KubeProxyNone,
		NoCNI:               n.DisableDefaultCNI,
	}
}

// LoadLinuxHost describes the host of a Linux node of the cluster that is up: os.ErrNotExist where no cluster is,
// NotFoundError where the cluster has no such node; false where the node is a Windows node.
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
		Name:   node,
		Dir:    paths.Node(node),
		RunDir: paths.NodeRun(node),
		Netns:  u.HostNetns(node),
		Bin:    paths.Bin,
		Cgroup: paths.CgroupParent() + "/" + node,
	}
	return config.Host(), true, nil
}
