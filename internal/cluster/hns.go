package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	hnsserver "mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/node/agent/admin"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/process/proc"
)

// HNS connects to the HNS of a Windows node. winhost.ErrDown says that the node is not up.
func HNS(ctx context.Context, paths Paths, node string) (*hnsserver.Client, error) {
	h, err := LoadHost(paths, node)
	if err != nil {
		return nil, err
	}
	client, err := dialHNS(ctx, paths, node, h.Netns)
	return client, down(err)
}

// Agent is the admin API of a Windows node's agent.
func Agent(paths Paths, node string) (*admin.Client, error) {
	if _, err := LoadHost(paths, node); err != nil {
		return nil, err
	}
	socket := admin.Socket(paths.nodeRun(node))
	if _, err := os.Stat(socket); err != nil {
		return nil, down(err)
	}
	return admin.NewClient(socket), nil
}

// down marks errors that mean that nobody is there.
func down(err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: %w", winhost.ErrDown, err)
	}
	return err
}

// ProxyEndpoint reads a page that kube-proxy.exe of a Windows node serves on the node's loopback: /healthz or /metrics.
func ProxyEndpoint(ctx context.Context, paths Paths, node, page string) ([]byte, error) {
	h, err := LoadHost(paths, node)
	if err != nil {
		return nil, err
	}
	port := kubenode.ProxyMetricsPort
	if page == "/healthz" {
		port = kubenode.ProxyHealthPort
	}
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: proc.DialIn(h.Netns), DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(port))+page, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, down(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("kube-proxy of node %q answers %s: %.200s", node, resp.Status, body)
	}
	return body, err
}
