package linuxnode

import (
	"net"
	"strconv"

	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/spec"
)

// ProxyArgs are kube-proxy's flags. A configuration file instead would be watched for changes, on which kube-proxy
// ends.
func (c Config) ProxyArgs() []string {
	kubeconfig := proxyKubeconfig
	if c.ProxyKubeconfig == "" {
		kubeconfig = kubeletKubeconfig
	}
	return []string{
		"--proxy-mode=nftables",
		"--kubeconfig=" + kubeconfig,
		"--hostname-override=" + c.Name,
		"--cluster-cidr=" + spec.JoinSubnets(c.PodSubnet, c.PodSubnet6),
		"--healthz-bind-address=" + net.JoinHostPort("127.0.0.1", strconv.Itoa(kubenode.ProxyHealthPort)),
		// The size of the table of connections and its times belong to the machine; the same choice as kind's.
		"--conntrack-max-per-core=0",
		"--conntrack-tcp-timeout-established=0",
		"--conntrack-tcp-timeout-close-wait=0",
		"--v=2",
	}
}
