// Package podnet connects the pods of one Windows host: it makes a pod's HNS namespace and has the host's CNI plugin,
// upstream's win-bridge.exe or win-overlay.exe with host-local.exe, connect it. It owns the host's CNI configuration and the
// HNS network that the plugin expects to find. The network modes nat and transparent and dual stack, for which there is no plugin in a public
// Go module, it carries out by calls of HNS. What HNS does, and how a Windows program is run, is others' business.
//
// Places on the host are those of containerd for Windows: programs in C:\Program Files\containerd\cni\bin, configuration
// in C:\Program Files\containerd\cni\conf (containerd v2.4.2, internal/cri/config/config_windows.go).
package podnet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/google/uuid"

	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/spec"
)

// Places on the Windows host.
const (
	BinDir  = `C:\Program Files\containerd\cni\bin`
	ConfDir = `C:\Program Files\containerd\cni\conf`

	// confFolder is ConfDir below the host's drive.
	confFolder = "Program Files/containerd/cni/conf"
	ifName     = "eth0"
)

// ErrNoPodCIDR says that the node has no range of pod addresses yet.
var ErrNoPodCIDR = errors.New("the node has no pod CIDR yet")

// HNS is the host's Host Networking Service; server.Service is one.
type HNS = hcn.Caller

// Exec runs Windows programs on the Windows host.
type Exec interface {
	// Run runs the program at a Windows path with these variables added to the host's environment, and returns its
	// standard output, also beside an error when the program ran and failed.
	Run(ctx context.Context, program string, env []string, stdin []byte) (stdout []byte, err error)
}

// Config says what a Network stands on.
type Config struct {
	// Mode is the network's; l2bridge when empty.
	Mode spec.Mode
	// Address is the host's on the underlay.
	Address netip.Addr
	// Shared is the host's part of the underlay in mode transparent.
	Shared Shared
	HNS    HNS
	Exec   Exec
	// Drive is the host's C: on this machine.
	Drive string
	// PinDir is the folder of pinned pod namespaces, the data plane's PinDir.
	PinDir string
	// CacheDir is where libcni keeps results, for DEL.
	CacheDir string
	// Local are the cluster's own networks (pods, services, nodes): pods on a bridge reach them with their own address, and
	// everything else with the host's.
	Local []netip.Prefix
	// DualStack: pods have an address of IPv6 beside that of IPv4. There is no plugin in a public Go module that gives them both:
	// upstream's win-bridge.exe takes the first address of its IPAM's answer and leaves the others
	// (github.com/containernetworking/plugins v1.9.1, plugins/main/windows/win-bridge).
	DualStack bool
	// Installed: the plugin, its configuration and the HNS network are others', who install them on the host (InstalledBinDir, InstalledConfDir).
	Installed bool
	// Pods and Services are two of Local, which an overlay treats apart.
	Pods, Services netip.Prefix
}

// Shared is a range of the underlay that one host gives to its pods.
type Shared struct {
	Subnet  netip.Prefix
	Gateway netip.Addr
	First   netip.Addr
	Last    netip.Addr
}

// Network connects pods. Its methods may be called from several goroutines.
type Network struct {
	cfg  Config
	cni  *libcni.CNIConfig
	mu   sync.RWMutex
	cidr netip.Prefix
	six  netip.Prefix              // the range of IPv6, with DualStack
	conf *libcni.NetworkConfigList // nil until there is a pod CIDR, and where there is no plugin
}

// DNS is how names are resolved in a pod.
type DNS struct{ Servers, Searches, Options []string }

// PortMapping is a hostPort.
type PortMapping struct {
	Protocol                string // TCP or UDP
	HostIP                  string
	HostPort, ContainerPort int32
}

// Pod is what the network needs to know of a pod. ID is the sandbox's, unique for ever.
type Pod struct {
	ID, Name, Namespace, UID string
	DNS                      DNS
	Ports                    []PortMapping
}

// Result is a connected pod.
type Result struct {
	// NetNS is the path of the pinned network namespace.
	NetNS string
	// HNSNamespace is the GUID of the HNS namespace.
	HNSNamespace string
	// IPs are the pod's addresses, the primary one first.
	IPs []netip.Addr
}

// New opens the network of a host. A pod CIDR that was set before is remembered by the CNI configuration on the host's C:.
func New(cfg Config) (*Network, error) {
	if cfg.Mode == "" {
		cfg.Mode = spec.ModeL2Bridge
	}
	n := &Network{cfg: cfg}
	if cfg.Installed {
		n.cni = libcni.NewCNIConfigWithCacheDir([]string{InstalledBinDir}, cfg.CacheDir, n.plugins())
		return n, nil
	}
	n.cni = libcni.NewCNIConfigWithCacheDir([]string{BinDir}, cfg.CacheDir, n.plugins())
	return n, n.load()
}

func (n *Network) plugins() plugins {
	return plugins{PluginDecoder: &version.PluginDecoder{}, exec: n.cfg.Exec}
}

// confPath is the CNI configuration on this machine.
func (n *Network) confPath() string {
	return filepath.Join(n.cfg.Drive, filepath.FromSlash(confFolder), "10-"+NetworkName(n.cfg.Mode)+".conflist")
}

// rangePath remembers the pod CIDR where there is no CNI configuration.
func (n *Network) rangePath() string { return filepath.Join(n.cfg.CacheDir, "pod-cidr") }

// namespaceOf is the GUID of a pod's HNS namespace. It follows from the sandbox's ID, so that a pod whose Setup was cut
// short by a crash can be found.
func namespaceOf(podID string) string {
	space := uuid.MustParse("6d756c6c-696f-6e20-706f-64206e657473")
	return strings.ToUpper(uuid.NewSHA1(space, []byte(podID)).String())
}

// Setup connects a pod. If it returns an error nothing is left behind.
func (n *Network) Setup(ctx context.Context, pod Pod) (Result, error) {
	conf, err := n.ready()
	if err != nil {
		return Result{}, err
	}
	result, err := n.setup(ctx, conf, pod)
	if err != nil {
		err = fmt.Errorf("connect pod %s/%s: %w", pod.Namespace, pod.Name, err)
		return Result{}, errors.Join(err, n.Teardown(context.WithoutCancel(ctx), pod))
	}
	return result, nil
}

func (n *Network) setup(ctx context.Context, conf *libcni.NetworkConfigList, pod Pod) (Result, error) {
	id := namespaceOf(pod.ID)
	if n.exists(ctx, id) { // from an earlier try, which a crash cut short
		if err := n.teardown(ctx, conf, pod); err != nil {
			return Result{}, err
		}
	}
	if err := n.createNamespace(ctx, id, pod.ID); err != nil {
		return Result{}, err
	}
	connect := n.add
	if n.direct() {
		connect = n.connect
	}
	ips, err := connect(ctx, conf, id, pod)
	if err != nil {
		return Result{}, err
	}
	return Result{NetNS: filepath.Join(n.cfg.PinDir, id), HNSNamespace: id, IPs: ips}, nil
}

// Teardown takes back what Setup did, whole or half; a pod that is not connected is no error.
func (n *Network) Teardown(ctx context.Context, pod Pod) error {
	conf, err := n.ready()
	if err != nil && !errors.Is(err, ErrNoPodCIDR) && !n.cfg.Installed {
		return err
	}
	if err := n.teardown(ctx, conf, pod); err != nil {
		return fmt.Errorf("disconnect pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// teardown always runs the plugin's DEL, as it alone gives the address back to host-local.exe.
func (n *Network) teardown(ctx context.Context, conf *libcni.NetworkConfigList, pod Pod) error {
	id := namespaceOf(pod.ID)
	there := n.exists(ctx, id)
	if n.cfg.Installed {
		if err := n.unplug(ctx, id, pod, there); err != nil {
			return err
		}
	} else if conf != nil && (there || n.cached(conf, id, pod)) {
		if err := n.cni.DelNetworkList(ctx, conf, runtimeConf(id, pod)); err != nil {
			return err
		}
	}
	if !there {
		return nil
	}
	if n.direct() {
		if err := n.disconnect(ctx, pod); err != nil {
			return err
		}
	}
	return hcn.Delete(ctx, n.cfg.HNS, hcn.Namespace, id)
}

// cached says that libcni remembers having connected the pod.
func (n *Network) cached(conf *libcni.NetworkConfigList, id string, pod Pod) bool {
	result, err := n.cni.GetNetworkListCachedResult(conf, runtimeConf(id, pod))
	return err == nil && result != nil
}

func (n *Network) ready() (*libcni.NetworkConfigList, error) {
	if n.cfg.Installed {
		return n.installed()
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	if !n.cidr.IsValid() {
		return nil, ErrNoPodCIDR
	}
	return n.conf, nil
}

// Ready returns nil when pods can be connected, else why not.
func (n *Network) Ready(context.Context) error {
	_, err := n.ready()
	return err
}

// PodCIDR is the host's range of pod addresses; the zero Prefix when there is none yet.
func (n *Network) PodCIDR() netip.Prefix {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.cidr
}
