package kubenode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"mullion.dev/mullion/internal/node/nodeconfig"
	"mullion.dev/mullion/internal/process/proc"
)

// proxyKubeconfig is kube-proxy's kubeconfig, where SIG Windows' tools have it.
const proxyKubeconfig = "/etc/kubernetes/kube-proxy.conf"

// KubeProxy returns the node's kube-proxy, started as s says. Ready means that the services there are can be reached
// from the node and its pods, or that kube-proxy waits for a network that others install (waits; nil: there is one).
func (n Node) KubeProxy(s proc.Spec, waits func() bool) *Process {
	probe := healthProbe(n.Netns, ProxyHealthPort)
	s.Ready = after(s.Ready, func(ctx context.Context) error {
		if waits != nil && waits() {
			return nil
		}
		answer, err := probe(ctx)
		if err != nil {
			return err
		}
		return proxySynced(answer)
	})
	return n.Process(KubeProxy, s, n.writeProxy)
}

// ProxyArgs returns kube-proxy's flags. own, the flags of the node's system, come last. A configuration file would be
// watched by kube-proxy, which ends when the file changes.
func (n Node) ProxyArgs(mode string, own ...string) []string {
	kubeconfig := proxyKubeconfig
	if n.ProxyKubeconfig == "" {
		kubeconfig = kubeletKubeconfig
	}
	args := append(nodeconfig.ProxyArgs(mode, n.Path(kubeconfig), n.Name), own...)
	return append(args, flags(n.KubeProxyExtraArgs)...)
}

// writeProxy writes kube-proxy's kubeconfig.
func (n Node) writeProxy() error {
	if n.ProxyKubeconfig == "" {
		return nil
	}
	data, err := os.ReadFile(n.ProxyKubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig of kube-proxy: %w", err)
	}
	return n.WriteFile(proxyKubeconfig, data, 0o600)
}

// never is the date at which a kube-proxy of Kubernetes 1.20 has carried out the Services before it did so once:
// https://github.com/kubernetes/kubernetes/blob/v1.20.15/pkg/proxy/healthcheck/proxier_health.go
const never = "0001-01-01"

// proxySynced returns an error unless kube-proxy, whose health endpoint gave that answer, has carried out the Services
// once. Before that kube-proxy already calls itself healthy, but its answer lacks an address family:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/proxy/healthcheck/proxy_health.go
func proxySynced(answer []byte) error {
	var health struct {
		Status      map[string]json.RawMessage `json:"status"`
		Eligible    *bool                      `json:"nodeEligible"`
		LastUpdated string                     `json:"lastUpdated"`
	}
	if err := json.Unmarshal(answer, &health); err != nil {
		return fmt.Errorf("read kube-proxy's health: %w", err)
	}

	_, done := health.Status["IPv4"]
	if health.Eligible == nil { // of an old kube-proxy
		done = health.LastUpdated != "" && !strings.HasPrefix(health.LastUpdated, never)
	}
	if !done {
		return errors.New("kube-proxy has not carried out the services yet")
	}

	return nil
}
