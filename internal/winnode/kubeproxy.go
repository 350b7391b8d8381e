package winnode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"mullion.dev/mullion/internal/component"
	"mullion.dev/mullion/internal/podnet"
)

// Windows paths of kube-proxy's files, where SIG Windows' tools have them.
const (
	proxyExe        = `C:\k\kube-proxy.exe`
	proxyKubeconfig = `C:\etc\kubernetes\kube-proxy.conf`
)

// ProxyArgs are kube-proxy's flags. A configuration file instead would be watched for changes, on which kube-proxy ends.
func (c Config) ProxyArgs() []string {
	return []string{
		"--proxy-mode=kernelspace",
		"--kubeconfig=" + proxyKubeconfig,
		"--hostname-override=" + c.Name,
		"--network-name=" + podnet.NetworkName,
		"--cluster-cidr=" + c.PodSubnet.String(),
		"--healthz-bind-address=" + net.JoinHostPort("127.0.0.1", strconv.Itoa(proxyHealthPort)),
		"--v=2",
	}
}

// proxyUnit is upstream's kube-proxy.exe. It waits by itself until the node has its range of pod addresses, and with that an
// HNS network.
func (c Config) proxyUnit() component.Component {
	probe := c.healthProbe(proxyHealthPort)
	ready := func(ctx context.Context) error {
		answer, err := probe(ctx)
		if err != nil {
			return err
		}
		return synced(answer)
	}
	return c.windowsUnit("kube-proxy", c.writeProxy, ready, proxyExe, c.ProxyArgs()...)
}

// synced tells whether kube-proxy has carried out the services once. It calls itself healthy before that, without an
// entry for an address family; https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/proxy/healthcheck/proxy_health.go
func synced(answer []byte) error {
	var health struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(answer, &health); err != nil {
		return fmt.Errorf("read kube-proxy's health: %w", err)
	}
	if _, done := health.Status["IPv4"]; !done {
		return errors.New("kube-proxy has not carried out the services yet")
	}
	return nil
}

// writeProxy writes kube-proxy's kubeconfig.
func (c Config) writeProxy() error {
	data, err := os.ReadFile(c.ProxyKubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig of kube-proxy: %w", err)
	}
	return c.writeFile(proxyKubeconfig, data, 0o600)
}
