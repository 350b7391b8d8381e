// Package controlplane owns how a cluster's control plane is run: the flags of etcd, kube-apiserver,
// kube-controller-manager and kube-scheduler, their order, how each reports that it is ready, and the environment that
// it gets. The programs are a bundle's (package cluster/bundle), which the supervisor starts as child processes;
// nothing here imports them. The objects that a fresh API needs come from package bootstrap.
//
//	certificates ─▶ etcd ─▶ kube-apiserver ─┬▶ kube-controller-manager
//	                                        ├▶ kube-scheduler
//	                                        └▶ bootstrap ─▶ serving-approver
//
// All run in the fabric's network namespace. The API server listens on its address of the underlay, the
// controller-manager and the scheduler on that namespace's loopback, over TLS with certificates of the cluster's
// authority. etcd listens on a Unix socket in a folder that only root can enter. Only the API server has to reach it,
// so the folder's permissions suffice as authentication: there is no port to take, no certificate to renew, and no TLS
// work per request.
package controlplane

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/winver"
)

// Names of the units. Units that are programs are called as their program.
const (
	Certificates      = "certificates"
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Bootstrap         = "bootstrap"
	ServingApprover   = "serving-approver"
)

// Ports on the fabric's loopback; upstream's defaults.
const (
	controllerManagerPort = 10257
	schedulerPort         = 10259
)

// Config is what a control plane depends on.
type Config struct {
	// Name of the cluster, as contexts of kubeconfig files call it.
	Name string
	// Programs is the folder of the control plane's programs: kube-apiserver and so on, and etcd, unless Etcd names
	// another file for that.
	Programs string
	Etcd     string
	// Version is that of the programs, "v1.20.15"; "" is the version that Mullion comes with.
	Version string
	// Dir is the data folder, in which pki, etcd and kubeconfig are made.
	Dir string
	// RunDir gets a folder with etcd's sockets; its path must be short, because the path of a Unix socket has at most
	// 107 bytes.
	RunDir string
	// LogDir gets one log file for each component.
	LogDir string
	// Marker is put into the children's environment.
	Marker string
	// Netns is the path of the fabric's pinned network namespace; "" is the caller's own.
	Netns string
	// Cgroup is that by whose weight the control plane runs; "" is the caller's.
	Cgroup string
	// Address and port of the API server on the underlay.
	Address netip.AddrPort
	// ExtraSANs are names and addresses besides Address by which the API server is reached.
	ExtraSANs []string
	// AdminServer is the URL in the administrator's kubeconfig; by default Address.
	AdminServer string
	// PodSubnet is cut into a /24 for each node.
	PodSubnet     netip.Prefix
	ServiceSubnet netip.Prefix
	// PodSubnet6, cut into a /64 for each node, and ServiceSubnet6 are the IPv6 subnets of a dual-stack cluster.
	PodSubnet6, ServiceSubnet6 netip.Prefix
	// Domain of the cluster's DNS names, "cluster.local" by default.
	Domain string
	// DNS is the server that gets the Service kube-dns; the zero value: none.
	DNS bootstrap.DNS
	// Machines is what other machines need to join; the zero value: none can join.
	Machines bootstrap.Machines
	// Windows are the Windows versions of the cluster's nodes.
	Windows []winver.Build
	// After are the units that must be ready before etcd is started, for example the fabric's.
	After []component.ID
	// NodeNetworks are the networks of nodes' addresses (the underlay, and those of nodes beyond it). Kubelets get
	// serving certificates only for addresses in them that are not Reserved. Empty permits all.
	NodeNetworks []netip.Prefix
	// MachineAddresses are those by which the cluster's machines reach one another, and all others of this machine.
	MachineAddresses []netip.Prefix
	// ServicePools are the parts of NodeNetworks that Services may have: load balancers' pools.
	ServicePools []netip.Prefix
	// OwnPorts are the ports of nodes' own programs, which pods and Services cannot have.
	OwnPorts []int
	// Reserved addresses are those of the machine itself; Address is reserved too.
	Reserved []netip.Addr
	// Log gets what the approver of serving certificates refuses; nil drops it.
	Log *slog.Logger
	// Notify, if set, gets changes of the processes' state; see proc.Spec.
	Notify func(name string, state proc.State)
}

// Validate returns an error that names what is missing or impossible.
func (c Config) Validate() error {
	var errs []error
	for _, s := range []struct{ name, value string }{
		{"Name", c.Name}, {"Programs", c.Programs}, {"Dir", c.Dir}, {"RunDir", c.RunDir}, {"LogDir", c.LogDir},
	} {
		if s.value == "" {
			errs = append(errs, fmt.Errorf("check control plane: %s is not set", s.name))
		}
	}

	if !c.Address.IsValid() {
		errs = append(errs, errors.New("check control plane: Address is not set"))
	}
	if !c.PodSubnet.IsValid() || c.PodSubnet.Bits() > nodeMask {
		errs = append(errs, fmt.Errorf("check control plane: pod subnet %s has no room for a /%d", c.PodSubnet,
			nodeMask))
	}

	if !c.ServiceSubnet.IsValid() {
		errs = append(errs, errors.New("check control plane: ServiceSubnet is not set"))
	}
	if c.PodSubnet6.IsValid() != c.ServiceSubnet6.IsValid() {
		errs = append(errs, errors.New("check control plane: only one of PodSubnet6 and ServiceSubnet6 is set"))
	}

	if c.PodSubnet6.Bits() > spec.NodeBits6 {
		errs = append(errs, fmt.Errorf("check control plane: pod subnet %s has no room for a /%d", c.PodSubnet6,
			spec.NodeBits6))
	}

	const longest = 107 // sizeof(sockaddr_un.sun_path) - 1
	if n := len(c.etcdSocket()); n > longest {
		errs = append(
			errs, fmt.Errorf("check control plane: the path of etcd's socket %q has %d bytes, %d are possible",
				c.etcdSocket(), n, longest))
	}

	return errors.Join(errs...)
}

// PKIDir returns the folder of certificates.
func (c Config) PKIDir() string { return filepath.Join(c.Dir, "pki") }

// Kubeconfig returns the path of the file with which user talks to the API server.
func (c Config) Kubeconfig(user pki.User) string {
	return filepath.Join(c.Dir, "kubeconfig", user.File+".kubeconfig")
}

// BootstrapKubeconfig returns the path of the file with a bootstrap token, with which a new node asks for its
// certificate. Package bootstrap writes it.
func (c Config) BootstrapKubeconfig() string {
	return filepath.Join(c.Dir, "kubeconfig", "bootstrap.kubeconfig")
}

// Server returns the API server's URL on the underlay.
func (c Config) Server() string { return "https://" + c.Address.String() }

// SANs returns the names and addresses in the API server's certificate.
func (c Config) SANs() pki.SANs {
	s := pki.SANs{
		DNS: []string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + c.domain(),
			"localhost",
		},
		IPs: []string{"127.0.0.1", c.Address.Addr().String(), c.ServiceSubnet.Masked().Addr().Next().String()},
	}

	for _, extra := range c.ExtraSANs {
		if _, err := netip.ParseAddr(extra); err == nil {
			s.IPs = append(s.IPs, extra)
		} else {
			s.DNS = append(s.DNS, extra)
		}
	}

	return s
}

func (c Config) domain() string {
	if c.Domain == "" {
		return "cluster.local"
	}
	return c.Domain
}

// etcdData holds etcd's data.
func (c Config) etcdData() string { return filepath.Join(c.Dir, "etcd") }

// etcdDir holds etcd's sockets; only root can enter it, whatever RunDir permits.
func (c Config) etcdDir() string        { return filepath.Join(c.RunDir, "etcd") }
func (c Config) etcdSocket() string     { return c.socketOf("client") }
func (c Config) etcdHTTPSocket() string { return c.socketOf("http") }
func (c Config) etcdPeerSocket() string { return c.socketOf("peer") }

// socketOf returns the path of one of etcd's sockets. An old etcd wants a port at the end of its name.
func (c Config) socketOf(name string) string {
	name += ".sock"
	if !c.etcdHas(version.SocketPaths) {
		name += ":0"
	}
	return filepath.Join(c.etcdDir(), name)
}
