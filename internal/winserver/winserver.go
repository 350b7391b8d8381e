// Package winserver owns how a Windows Server becomes a node of a cluster and stops being one: the steps of
// mullion-agent's join, upgrade and leave. What a step changes it reaches through a Host, so the steps are tested on
// Linux against folders and services in memory; package local is the Windows that they run on.
//
//	discovery ─▶ networking ─▶ programs, files ─▶ containerd ─▶ kubelet ─▶ the Node's range ─▶ HNS network ─▶ CNI
//	token, hash  ConfigMaps    C:\k, C:\etc, …    services      bootstrap                      l2bridge       │
//	                                                                                        kube-proxy ◀──────┘
//
// Each change is in the journal before it is made (package journal); leave takes back what is there. A step that finds
// its work done does nothing, so a join that was interrupted is repeated.
package winserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"mullion.dev/mullion/internal/node/nodeconfig"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/winserver/journal"
)

var (
	// ErrConflict says that the server has something in the place of what a step would make.
	ErrConflict = errors.New("the server has something else in that place")
	// ErrNotReady says that something did not get ready in time.
	ErrNotReady = errors.New("it was not ready in time")
	// ErrForeign says that the cluster is none that a server can join.
	ErrForeign = errors.New("the cluster is neither Mullion's nor one that kubeadm made")
	// ErrSkew says that Kubernetes does not allow a kubelet or kube-proxy with that API server.
	ErrSkew = errors.New("Kubernetes does not allow these versions together") //nolint:staticcheck // a name
	// ErrUntrusted says that somebody who is no administrator owns what is in a place of the node's.
	ErrUntrusted = errors.New("its owner is neither an administrator nor the system")
	// ErrNetworkMode says that the agent does not make pods' networks of that kind.
	ErrNetworkMode = errors.New("mullion-agent makes no network of that kind")
)

// Places on C:, as SIG Windows' tools and containerd's documents have them.
const (
	programsDir   = "/k"
	cniBinDir     = "/opt/cni/bin"
	cniConfDir    = "/etc/cni/net.d"
	kubernetesDir = "/etc/kubernetes"
	logDir        = "/var/log"
	cniStateDir   = "/var/lib/cni"
	runtimeDir    = "/Program Files/containerd"
	stateDir      = "/ProgramData/mullion-agent"

	journalFile    = stateDir + "/journal.json"
	stagingDir     = stateDir + "/staging"
	cniConfFile    = cniConfDir + "/10-mullion.conflist"
	runtimeConfig  = runtimeDir + "/config.toml"
	kubeletCertPEM = nodeconfig.KubeletCertDir + "/kubelet-client-current.pem"
)

// RuntimeEndpoint is containerd's own.
const RuntimeEndpoint = "npipe:////./pipe/containerd-containerd"

// Access is who reaches a folder with what is in it, or a file, beside administrators and the system, who may do all.
type Access int

// The kinds of access. Containers that do not run as ContainerAdministrator reach the host's files as its users
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/util/filesystem/util_windows.go, Chmod).
const (
	// Readable: users read and execute, and write nothing. What C:\ hands down would let them put a library beside a
	// service's program.
	Readable Access = iota
	// Private: nobody.
	Private
	// Volumes: in the folder, but not of the folder itself, users have what C:\ hands down.
	Volumes
)

// Host is the Windows that the steps change. Every field has to be set.
type Host struct {
	// Root is the folder that is C:\.
	Root     string
	Services services.Manager
	Networks Networks
	Firewall Firewall
	Routes   Routes
	// Protect makes administrators the owner of a file or a folder, and says who else reaches it.
	Protect func(path string, access Access) error
	// Trusted returns an error that wraps ErrUntrusted if the owner of a file or a folder is neither an administrator
	// nor the system.
	Trusted func(path string) error
	// Version is what a program says with --version.
	Version func(ctx context.Context, path string) (string, error)
	// EndPods stops and removes all pods of the container runtime.
	EndPods func(ctx context.Context, endpoint string) (int, error)
	// Address is the address from which the server reaches host:port, with its network.
	Address func(hostport string) (netip.Prefix, error)
	// Healthy asks a health endpoint on the loopback.
	Healthy func(ctx context.Context, port int) error
	// Poll is the time between two looks.
	Poll time.Duration
}

// Networks are HNS' networks.
type Networks interface {
	// Ensure makes an l2bridge network with the host's own endpoint on it, or finds both. found says that the network
	// was there. A network of that name with another range is an error that wraps ErrConflict.
	Ensure(name string, subnet netip.Prefix) (found bool, err error)
	// Has reports whether there is a network of that name.
	Has(name string) (bool, error)
	// Delete removes a network with its endpoints; one that is not there is no error.
	Delete(name string) error
	// ClearServices removes what kube-proxy has made.
	ClearServices() error
}

// Firewall is Windows' firewall.
type Firewall interface {
	// Allow lets connections to a TCP port in, by a rule of that name.
	Allow(ctx context.Context, name string, port int) error
	// Remove removes the rule of that name; one that is not there is no error.
	Remove(ctx context.Context, name string) error
}

// Routes are Windows' IPv4 routes, which it keeps when it starts anew.
type Routes interface {
	// Ensure makes the route to a network by way of a neighbour, or finds it.
	Ensure(ctx context.Context, to netip.Prefix, via netip.Addr) error
	// Remove removes that route; one that is not there is no error.
	Remove(ctx context.Context, to netip.Prefix, via netip.Addr) error
}

// Say tells a person of a step.
type Say func(format string, args ...any)

// file returns the path, in the form of this machine, of a file that is named by its path on C: with slashes.
func (h Host) file(path string) string { return filepath.Join(h.Root, filepath.FromSlash(path)) }

// windows returns a path as programs of Windows write it.
func windows(path string) string { return nodeconfig.Path(spec.Windows, path) }

// Journal reads the journal; the error wraps journal.ErrNone if there is none. Users may make folders in
// C:\ProgramData: a journal of theirs could have an administrator remove anything.
func (h Host) Journal() (*journal.Journal, error) {
	for _, name := range []string{stateDir, journalFile} {
		if err := h.trusted(name); err != nil {
			return nil, err
		}
	}
	return journal.Load(h.file(journalFile))
}

// trusted returns an error that wraps ErrUntrusted and ErrConflict if somebody else made what is in a place of the
// node's. Nothing there is none.
func (h Host) trusted(name string) error {
	if _, err := os.Lstat(h.file(name)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := h.Trusted(h.file(name)); err != nil {
		return fmt.Errorf("%s: %w: %w", windows(name), ErrConflict, err)
	}
	return nil
}

// wait calls look until it returns nil, ctx is over or the patience is.
func (h Host) wait(ctx context.Context, patience time.Duration, look func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(h.Poll)
	defer tick.Stop()

	for {
		err := look(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ErrNotReady, err)
		case <-tick.C:
		}
	}
}
