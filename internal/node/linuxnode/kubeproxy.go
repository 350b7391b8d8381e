package linuxnode

import (
	"net"
	"strconv"

	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/spec"
)

// ProxyArgs returns kube-proxy's flags.
func (c Config) ProxyArgs() []string {
	return c.node().ProxyArgs("nftables",
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
