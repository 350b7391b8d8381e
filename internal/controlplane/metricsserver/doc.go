// Package metricsserver owns how upstream's metrics-server is run beside the control plane: its flags, its rights on
// the machine and how it is known to be ready. Package bootstrap gives it the right to read the API, and registers the
// resource metrics API that it answers.
//
//	kubectl top, HPA ─▶ API server ─▶ Service kube-system/metrics-server ─▶ metrics-server (fabric) ─▶ kubelets' /metrics/resource
//
// It does not run in a pod, because a cluster may have no Linux node, and needs no image.
package metricsserver

import (
	"errors"
	"net"
	"net/netip"
	"strconv"

	"mullion.dev/mullion/internal/controlplane/addon"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/process/confined"
)

// Name is the unit's name.
const Name = "metrics-server"

// Port is its port on the fabric's address: not upstream's 10250, which is the kubelet's, but that of early versions of
// upstream's Helm chart.
const Port = 4443

// UserID is the id of the user and the group that it runs as; nothing else on the machine should use it.
const UserID = 65533

// Files in the program's folder.
const (
	kubeconfigFile   = "kubeconfig"
	caFile           = "ca.crt"
	frontProxyCAFile = "front-proxy-ca.crt"
	certFile         = "serving.crt"
	keyFile          = "serving.key"
)

// Config is what the server depends on.
type Config struct {
	addon.Place

	// Address is the fabric's address in its network namespace.
	Address netip.Addr
	// PKIDir is the control plane's folder of certificates, Cluster the cluster's name and Server the API server's URL.
	PKIDir, Cluster, Server string
}

// Validate returns an error that names what is missing.
func (c Config) Validate() error {
	err := c.Place.Validate(Name,
		addon.Required{Name: "PKIDir", Value: c.PKIDir}, addon.Required{Name: "Server", Value: c.Server})
	if err != nil {
		return err
	}
	if !c.Address.IsValid() {
		return errors.New("check metrics-server: Address is not set")
	}
	return nil
}

// confined runs metrics-server as a user of its own, without capabilities.
func (c Config) confined() confined.Program {
	return confined.Program{
		Name:   Name,
		Dir:    c.Dir(Name),
		UserID: UserID,
	}
}

// Flags returns those of upstream's deployment, with other paths of certificates, and with the API server's client
// authority given instead of looked up:
// https://github.com/kubernetes-sigs/metrics-server/blob/v0.9.0/manifests/base/deployment.yaml
func (c Config) Flags() []string {
	file := c.confined().File

	return []string{
		"--kubeconfig=" + file(kubeconfigFile),
		"--authentication-kubeconfig=" + file(kubeconfigFile),
		"--authorization-kubeconfig=" + file(kubeconfigFile),
		"--authentication-skip-lookup=true",
		"--client-ca-file=" + file(caFile),
		"--requestheader-client-ca-file=" + file(frontProxyCAFile),
		"--requestheader-allowed-names=" + pki.FrontProxyClientName,
		"--bind-address=" + c.Address.String(),
		"--secure-port=" + strconv.Itoa(Port),
		"--tls-cert-file=" + file(certFile),
		"--tls-private-key-file=" + file(keyFile),
		"--tls-min-version=VersionTLS12",
		// Kubelets' serving certificates are for these addresses; the cluster's authority, which is in the kubeconfig,
		// signed them.
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-use-node-status-port",
		"--metric-resolution=15s",
		"--profiling=false",
	}
}

// url returns one of the server's own pages.
func (c Config) url(path string) string {
	return "https://" + net.JoinHostPort(c.Address.String(), strconv.Itoa(Port)) + path
}
