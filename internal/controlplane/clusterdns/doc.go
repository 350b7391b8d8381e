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
	"fmt"
	"net/netip"
	"path/filepath"
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
	// Program is the path of CoreDNS.
	Program string
	// RunDir gets a folder with the configuration. Everybody must be able to traverse it.
	RunDir string
	// ZonesDir is a folder of zones with name servers of their own, for Zones; it need not exist.
	ZonesDir string
	// LogDir gets the log file.
	LogDir string
	// Marker is put into the child's environment.
	Marker string
	// Netns is the path of the fabric's pinned network namespace, Address the fabric's address in it.
	Netns string
	// Cgroup is that by whose weight it runs; "" is the caller's.
	Cgroup  string
	Address netip.Addr
	// Domain is the cluster's domain, for example "cluster.local".
	Domain string
	// Version is the API server's, "v1.20.15"; "" is the version that Mullion comes with.
	Version string
	// PKIDir is the control plane's folder of certificates, Cluster the cluster's name and Server the API server's URL.
	PKIDir, Cluster, Server string
}

func (c Config) dir() string        { return filepath.Join(c.RunDir, Name) }
func (c Config) corefile() string   { return filepath.Join(c.dir(), "Corefile") }
func (c Config) kubeconfig() string { return filepath.Join(c.dir(), "kubeconfig") }

// Validate returns an error that names what is missing.
func (c Config) Validate() error {
	for _, s := range []struct{ name, value string }{
		{"Program", c.Program},
		{"RunDir", c.RunDir},
		{"LogDir", c.LogDir},
		{"Domain", c.Domain},
		{"PKIDir", c.PKIDir},
		{"Server", c.Server},
	} {
		if s.value == "" {
			return fmt.Errorf("check cluster DNS: %s is not set", s.name)
		}
	}

	if !c.Address.IsValid() {
		return errors.New("check cluster DNS: Address is not set")
	}

	return nil
}
