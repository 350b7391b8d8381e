// Command network makes the HNS network that the pods of a Windows node stand on, as flanneld does with its backend
// host-gw: it asks the API for the node's range of pod addresses, makes an l2bridge network of it with an endpoint for
// the host itself, which win-bridge.exe makes the pods' gateway, and prints what the plugin's configuration needs. It
// runs in a HostProcess container.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// plan is a node's network.
type plan struct {
	Network string       `json:"network"`
	Subnet  netip.Prefix `json:"subnet"`
	// Gateway is HNS' own, Host the host's address, RangeStart the first of the pods'.
	Gateway    netip.Addr `json:"gateway"`
	Host       netip.Addr `json:"host"`
	RangeStart netip.Addr `json:"rangeStart"`
}

func main() {
	name := flag.String("name", "cbr0", "name of the HNS network")
	patience := flag.Duration("timeout", 2*time.Minute, "how long to wait for the API and the node's range")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *patience)
	defer cancel()
	if err := run(ctx, *name, os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) // nothing is left open
	}
}

func run(ctx context.Context, name string, getenv func(string) string, out io.Writer) error {
	a, err := connect(getenv)
	if err != nil {
		return err
	}
	subnet, err := a.waitForRange(ctx, getenv("NODE_NAME"))
	if err != nil {
		return err
	}

	p, err := planOf(name, subnet)
	if err != nil {
		return err
	}
	if err := p.apply(); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(p)
}

// planOf takes the addresses that a node's network needs off the beginning of its range.
func planOf(name string, subnet netip.Prefix) (plan, error) {
	if !subnet.Addr().Is4() || subnet.Bits() > 29 {
		return plan{}, fmt.Errorf("the node's range %s is not an IPv4 network of at least 8 addresses", subnet)
	}
	p := plan{Network: name, Subnet: subnet.Masked()}
	p.Gateway = p.Subnet.Addr().Next()
	p.Host = p.Gateway.Next()
	p.RangeStart = p.Host.Next()
	return p, nil
}

// api is the API server, asked with the pod's own credentials.
type api struct {
	url, token string
	client     *http.Client
}

// connect reads the pod's credentials, which are below the mount point of its container.
func connect(getenv func(string) string) (api, error) {
	dir := filepath.Join(getenv("CONTAINER_SANDBOX_MOUNT_POINT"), "var", "run", "secrets", "kubernetes.io",
		"serviceaccount")
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		return api{}, err
	}

	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return api{}, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return api{}, errors.New("ca.crt has no certificate")
	}

	client := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
	}
	host := net.JoinHostPort(getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"))
	return api{
		url:    "https://" + host,
		token:  string(token),
		client: client,
	}, nil
}

// waitForRange asks until the controller manager has given the node its range.
func (a api) waitForRange(ctx context.Context, node string) (netip.Prefix, error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()

	for {
		text, err := a.rangeOf(ctx, node)
		if err == nil && text != "" {
			return netip.ParsePrefix(text)
		}
		if err == nil {
			err = errors.New("it has none yet")
		}

		select {
		case <-ctx.Done():
			return netip.Prefix{}, fmt.Errorf("ask for the range of pod addresses of node %q: %w", node, err)
		case <-tick.C:
		}
	}
}

func (a api) rangeOf(ctx context.Context, node string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"/api/v1/nodes/"+url.PathEscape(node), nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	resp, err := a.client.Do(req)
	if err != nil {
		return "", err
	}

	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the API server answers %s", resp.Status)
	}
	var n struct {
		Spec struct {
			PodCIDR string `json:"podCIDR"`
		} `json:"spec"`
	}

	err = json.NewDecoder(io.LimitReader(resp.Body, 4<<20)).Decode(&n)
	return n.Spec.PodCIDR, err
}
