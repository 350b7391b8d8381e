// Package clusterdns owns how the cluster's DNS server is run: CoreDNS beside the control plane, its Corefile, its
// rights on the machine and its way to the machine's own name servers. Package bootstrap makes the Service by which
// pods reach it, and gives it the right to read the API.
//
//	pod ─▶ Service kube-dns ─▶ CoreDNS (fabric) ─┬▶ API server     names of the cluster's domain
//	                                             ├▶ name servers of single zones, if there are such
//	                                             └▶ the machine's name servers, as its resolv.conf has them now
//
// It does not run in a pod, because a cluster may have no Linux node.
package clusterdns

import (
	"errors"
	"net/netip"
	"path/filepath"

	"mullion.dev/mullion/internal/controlplane/addon"
)

// Name is the unit's name.
const Name = "coredns"

// Ports: DNS and metrics on the fabric's address, the others on its loopback. All are upstream's defaults.
const (
	Port        = 53
	MetricsPort = 9153

	healthPort = 8080
	readyPort  = 8181
)

// UserID is the id of the user and the group that CoreDNS runs as. Nothing else on the machine should use it;
// distroless images use the same.
const UserID = 65532

// Config is what the server depends on.
type Config struct {
	addon.Place

	// ZonesDir is a folder of zones with name servers of their own, for Zones; it need not exist.
	ZonesDir string
	// Address is the fabric's address in its network namespace.
	Address netip.Addr
	// Domain is the cluster's domain, for example "cluster.local".
	Domain string
	// Version is the API server's, "v1.20.15"; "" is the version that Mullion comes with.
	Version string
	// PKIDir is the control plane's folder of certificates, Cluster the cluster's name and Server the API server's URL.
	PKIDir, Cluster, Server string
}

func (c Config) corefile() string   { return filepath.Join(c.Dir(Name), "Corefile") }
func (c Config) kubeconfig() string { return filepath.Join(c.Dir(Name), "kubeconfig") }

// Validate returns an error that names what is missing.
func (c Config) Validate() error {
	err := c.Place.Validate("cluster DNS",
		addon.Required{Name: "Domain", Value: c.Domain},
		addon.Required{Name: "PKIDir", Value: c.PKIDir},
		addon.Required{Name: "Server", Value: c.Server})
	if err != nil {
		return err
	}

	if !c.Address.IsValid() {
		return errors.New("check cluster DNS: Address is not set")
	}

	return nil
}
