package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"mullion.dev/mullion/internal/cluster/layout"
	hnsserver "mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/node/agent/admin"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/probe"
	"mullion.dev/mullion/internal/process/proc"
)

// dialHNS connects to the HNS of a Windows host, as the host's own programs do.
func dialHNS(ctx context.Context, paths layout.Paths, node, netns string) (*hnsserver.Client, error) {
	token, err := os.ReadFile(winnode.TokenFile(paths.Node(node)))
	if err != nil {
		return nil, fmt.Errorf("connect to HNS of node %q: %w", node, err)
	}
	conn, err := proc.DialIn(netns)(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(winnode.HNSPort)))
	if err != nil {
		return nil, fmt.Errorf("connect to HNS of node %q: %w", node, err)
	}
	return hnsserver.NewClient(conn, string(token))
}

// HNS connects to the HNS of a Windows node. winhost.ErrDown says that the node is not up.
func HNS(ctx context.Context, paths layout.Paths, node string) (*hnsserver.Client, error) {
	h, err := LoadHost(paths, node)
	if err != nil {
		return nil, err
	}
	client, err := dialHNS(ctx, paths, node, h.Netns)
	return client, down(err)
}

// Agent returns the admin API of a Windows node's agent.
func Agent(paths layout.Paths, node string) (*admin.Client, error) {
	if _, err := LoadHost(paths, node); err != nil {
		return nil, err
	}
	socket := admin.Socket(paths.NodeRun(node))
	if _, err := os.Stat(socket); err != nil {
		return nil, down(err)
	}
	return admin.NewClient(socket), nil
}

// down marks errors that mean that nobody is there.
func down(err error) error {
	if isNobody(err) {
		return fmt.Errorf("%w: %w", winhost.ErrDown, err)
	}
	return err
}

// ProxyEndpoint reads a page that kube-proxy.exe of a Windows node serves on the node's loopback: /healthz or /metrics.
func ProxyEndpoint(ctx context.Context, paths layout.Paths, node, page string) ([]byte, error) {
	h, err := LoadHost(paths, node)
	if err != nil {
		return nil, err
	}
	port := kubenode.ProxyMetricsPort
	if page == "/healthz" {
		port = kubenode.ProxyHealthPort
	}

	body, err := probe.Target{
		URL:       "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + page,
		Dial:      proc.DialIn(h.Netns),
		Timeout:   10 * time.Second,
		MostBytes: 8 << 20,
	}.Get(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask kube-proxy of node %q: %w", node, down(err))
	}

	return body, nil
}
