package linuxnode

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/spec"
)

// ProxyArgs returns kube-proxy's flags.
func (c Config) ProxyArgs() []string {
	return c.node().ProxyArgs(c.proxyMode(),
		"--cluster-cidr="+spec.JoinSubnets(c.PodSubnet, c.PodSubnet6),
		"--healthz-bind-address="+net.JoinHostPort("127.0.0.1", strconv.Itoa(kubenode.ProxyHealthPort)),
		// The size and the timeouts of the connection table belong to the machine, so kube-proxy leaves them alone;
		// kind does the same.
		"--conntrack-max-per-core=0",
		"--conntrack-tcp-timeout-established=0",
		"--conntrack-tcp-timeout-close-wait=0",
		"--v=2",
	)
}

// iptables is the mode, and the program of the machine that kube-proxy and kubelet run in it.
const iptables = "iptables"

// proxyMode returns kube-proxy's mode.
func (c Config) proxyMode() string {
	if version.MinorOf(c.Version) < version.ProxyNFTables {
		return iptables
	}
	return "nftables"
}

// hasIPTables returns an error if the machine lacks the program that kube-proxy's mode needs.
func (c Config) hasIPTables() error {
	if c.Bare || c.NoProxy || c.proxyMode() != iptables {
		return nil
	}
	for _, dir := range []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		if _, err := os.Stat(filepath.Join(dir, iptables)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("start node %q: kube-proxy of Kubernetes %s runs iptables, which this machine has not got; "+
		"install the package iptables", c.Name, c.Version)
}
