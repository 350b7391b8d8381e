// Package kubenode owns what a kubelet and a kube-proxy need of us whatever operating system their node has: the
// kubeconfig they join with and how they are known to be ready. It owns neither their flags nor where their files lie.
package kubenode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"mullion.dev/mullion/internal/process/probe"
	"mullion.dev/mullion/internal/process/proc"
)

// Health endpoints on the loopback of the node's network namespace: the programs' defaults.
const (
	KubeletHealthPort = 10248
	ProxyHealthPort   = 10256
	// ProxyMetricsPort is where kube-proxy serves /metrics.
	ProxyMetricsPort = 10249
)

// BootstrapKubeconfig is the kubeconfig with a bootstrap token at path, with the API server's URL as nodes reach it and
// the authority's certificates (PEM) in it.
func BootstrapKubeconfig(path, server string, ca []byte) ([]byte, error) {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("read bootstrap kubeconfig: %w", err)
	}
	for name, cluster := range config.Clusters {
		config.Clusters[name] = &clientcmdapi.Cluster{
			Server:                   server,
			CertificateAuthorityData: ca,
			TLSServerName:            cluster.TLSServerName,
		}
	}
	return clientcmd.Write(*config)
}

// HealthProbe returns what asks a health endpoint on the loopback of the network namespace pinned at netns and returns
// its answer. An answer other than 200 is an error.
func HealthProbe(netns string, port int) func(context.Context) ([]byte, error) {
	return probe.Target{
		URL:     "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + "/healthz",
		Dial:    proc.DialIn(netns),
		Timeout: 5 * time.Second,
	}.Get
}

// ProxySynced tells whether kube-proxy, whose health endpoint gave that answer, has carried out the services once. It
// calls itself healthy before that, without an entry for an address family;
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/proxy/healthcheck/proxy_health.go
func ProxySynced(answer []byte) error {
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

// NodeIPs is the value of the kubelet's --node-ip: the address, and that of IPv6 if the node has one.
func NodeIPs(addr, addr6 netip.Addr) string {
	if !addr6.IsValid() {
		return addr.String()
	}
	return addr.String() + "," + addr6.String()
}
