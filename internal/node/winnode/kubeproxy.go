package winnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/spec"
)

// ProxyArgs are kube-proxy's flags. Only an overlay has a source VIP. No feature gate is named: WinOverlay and WinDSR
// are locked on since Kubernetes 1.34.
func (c Config) ProxyArgs(sourceVIP netip.Addr) []string {
	args := []string{
		"--network-name=" + podnet.NetworkName(c.Network.Mode),
		"--cluster-cidr=" + spec.JoinSubnets(c.PodSubnet, c.PodSubnet6),
		"--healthz-bind-address=" + net.JoinHostPort("127.0.0.1", strconv.Itoa(kubenode.ProxyHealthPort)),
		"--metrics-bind-address=" + net.JoinHostPort("127.0.0.1", strconv.Itoa(kubenode.ProxyMetricsPort)),
		"--v=2",
	}
	if c.EnableDSR {
		args = append(args, "--enable-dsr=true")
	}
	if sourceVIP.IsValid() {
		args = append(args, "--source-vip="+sourceVIP.String(), "--bind-address="+c.Address.String())
	}
	return c.node().ProxyArgs("kernelspace", args...)
}

// sourceVIPTimeout bounds the wait for the node's range of pod addresses.
const sourceVIPTimeout = 3 * time.Minute

// sourceVIP waits until the host has reserved its source VIP, which follows from the node's range of pod addresses.
// Without it kube-proxy ends on an overlay; in other modes there is none.
func (c Config) sourceVIP(ctx context.Context) (netip.Addr, error) {
	if c.Network.Mode != spec.ModeOverlay {
		return netip.Addr{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, sourceVIPTimeout)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		vip, err := podnet.SourceVIP(c.drive())
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return vip, err
		}
		select {
		case <-ctx.Done():
			return netip.Addr{}, fmt.Errorf("wait for the source VIP of host %q: %w", c.Name, ctx.Err())
		case <-tick.C:
		}
	}
}

// proxyUnit is upstream's kube-proxy.exe. It waits by itself until the node has its range of pod addresses, and with
// that an HNS network.
func (c Config) proxyUnit() component.Component {
	p := c.node().KubeProxy(c.upstream(kubenode.KubeProxy, func(ctx context.Context) ([]string, error) {
		vip, err := c.sourceVIP(ctx)
		return c.ProxyArgs(vip), err
	}), c.lacksNetwork)
	return c.service(kubenode.KubeProxy, p)
}

// lacksNetwork reports whether the host's network is for somebody else to install, who has not done so yet. kube-proxy
// waits for it then, and nobody waits for kube-proxy.
func (c Config) lacksNetwork() bool {
	return c.Network.NoCNI && !podnet.Configured(c.drive())
}
