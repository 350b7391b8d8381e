// Package kubenode owns what a node is whatever its system: its configuration, the files and flags of its kubelet and
// its kube-proxy, how these are known to be ready, and the processes that a node's parts are. It owns neither what
// only one system has (packages linuxnode and winnode) nor a node's namespaces.
package kubenode

import (
	"context"
	"net"
	"strconv"
	"time"

	"mullion.dev/mullion/internal/node/nodeconfig"
	"mullion.dev/mullion/internal/process/probe"
	"mullion.dev/mullion/internal/process/proc"
)

// Names of the parts that every node has, which on Linux are also those of the programs.
const (
	Kubelet   = "kubelet"
	KubeProxy = "kube-proxy"
)

// Health endpoints on the loopback of the node's network namespace: the programs' defaults.
const (
	kubeletHealthPort = nodeconfig.KubeletHealthPort
	// ProxyHealthPort is kube-proxy's.
	ProxyHealthPort = nodeconfig.ProxyHealthPort
	// ProxyMetricsPort is where kube-proxy serves /metrics.
	ProxyMetricsPort = nodeconfig.ProxyMetricsPort
)

// OwnPorts returns the TCP ports of a node's kubelet and kube-proxy.
func OwnPorts() []int {
	return []int{kubeletHealthPort, ProxyMetricsPort, nodeconfig.KubeletPort, ProxyHealthPort}
}

// healthProbe returns a function that asks a health endpoint on the loopback of the network namespace pinned at netns
// and returns the answer. An answer other than 200 is an error.
func healthProbe(netns string, port int) func(context.Context) ([]byte, error) {
	return probe.Target{
		URL:     "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + "/healthz",
		Dial:    proc.DialIn(netns),
		Timeout: 5 * time.Second,
	}.Get
}
