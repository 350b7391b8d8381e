// Package podnet connects the pods of one Windows host: it makes a pod's HNS namespace and lets the host's CNI plugin,
// upstream's win-bridge.exe or win-overlay.exe with host-local.exe, connect it. It owns the host's CNI configuration
// and the HNS network that the plugin expects to find. For the network modes nat and transparent and for dual stack
// there is no plugin in a public Go module; it connects those pods by calls of HNS. A third way to connect pods is a
// plugin that others install on the host. It does not own what HNS does, or how a Windows program is run.
//
// Places on the host are those of containerd for Windows: programs in C:\Program Files\containerd\cni\bin,
// configuration in C:\Program Files\containerd\cni\conf (containerd v2.4.2, internal/cri/config/config_windows.go).
package podnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/spec"
)

// Places on the Windows host.
const (
	BinDir  = `C:\Program Files\containerd\cni\bin`
	ConfDir = `C:\Program Files\containerd\cni\conf`

	// confFolder is ConfDir below the host's drive.
	confFolder = "Program Files/containerd/cni/conf"
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

// Config is what New needs to know of the host.
type Config struct {
	// Mode is the network mode; l2bridge when empty.
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
	// Local are the cluster's own networks (pods, services, nodes): pods on a bridge reach them with their own address,
	// and everything else with the host's.
	Local []netip.Prefix
	// DualStack: pods have an address of IPv6 beside that of IPv4. No plugin in a public Go module gives pods both:
	// upstream's win-bridge.exe takes the first address of its IPAM's answer and leaves the others
	// (github.com/containernetworking/plugins v1.9.1, plugins/main/windows/win-bridge).
	DualStack bool
	// Installed says that others install the plugin, its configuration and the HNS network on the host
	// (InstalledBinDir, InstalledConfDir).
	Installed bool
	// Pods and Services are the cluster's networks of pods and of Services, also in Local; an overlay needs to tell
	// them apart.
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
	cfg Config
	way connector
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

// New opens the network of a host, and chooses its way to connect pods. A pod CIDR that was set before is remembered.
func New(cfg Config) (*Network, error) {
	if cfg.Mode == "" {
		cfg.Mode = spec.ModeL2Bridge
	}
	way, err := choose(cfg)
	if err != nil {
		return nil, err
	}
	return &Network{cfg: cfg, way: way}, nil
}

// namespaceOf returns the GUID of a pod's HNS namespace. It follows from the sandbox's ID, so that a pod whose Setup
// was cut short by a crash can be found.
func namespaceOf(podID string) string {
	space := uuid.MustParse("6d756c6c-696f-6e20-706f-64206e657473")
	return strings.ToUpper(uuid.NewSHA1(space, []byte(podID)).String())
}

// SetPodCIDR makes the HNS network for the host's pod CIDRs and stores them for later processes: one of IPv4 and, with
// dual stack, one of IPv6; without dual stack an IPv6 range is ignored. Setting the same ranges again repairs what is
// missing; other ranges are refused while pods are connected.
func (n *Network) SetPodCIDR(ctx context.Context, cidrs ...netip.Prefix) error {
	return n.way.SetRange(ctx, cidrs...)
}

// Setup connects a pod. If it returns an error nothing is left behind.
func (n *Network) Setup(ctx context.Context, pod Pod) (Result, error) {
	if err := n.way.Ready(); err != nil {
		return Result{}, err
	}
	result, err := n.setup(ctx, pod)
	if err != nil {
		err = fmt.Errorf("connect pod %s/%s: %w", pod.Namespace, pod.Name, err)
		return Result{}, errors.Join(err, n.Teardown(context.WithoutCancel(ctx), pod))
	}
	return result, nil
}

func (n *Network) setup(ctx context.Context, pod Pod) (Result, error) {
	id := namespaceOf(pod.ID)
	if n.exists(ctx, id) { // left by an earlier try, which a crash cut short
		if err := n.teardown(ctx, pod); err != nil {
			return Result{}, err
		}
	}
	if err := n.createNamespace(ctx, id, pod.ID); err != nil {
		return Result{}, err
	}

	ips, err := n.way.Add(ctx, id, pod)
	if err != nil {
		return Result{}, err
	}
	return Result{
		NetNS:        filepath.Join(n.cfg.PinDir, id),
		HNSNamespace: id,
		IPs:          ips,
	}, nil
}

// Teardown undoes Setup, also a Setup that a crash interrupted. It is no error if the pod is not connected.
func (n *Network) Teardown(ctx context.Context, pod Pod) error {
	if err := n.teardown(ctx, pod); err != nil {
		return fmt.Errorf("disconnect pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

func (n *Network) teardown(ctx context.Context, pod Pod) error {
	id := namespaceOf(pod.ID)
	there := n.exists(ctx, id)
	if err := n.way.Del(ctx, id, pod, there); err != nil || !there {
		return err
	}
	return hcn.Delete(ctx, n.cfg.HNS, hcn.Namespace, id)
}

// Ready returns nil if pods can be connected, and otherwise the reason.
func (n *Network) Ready(context.Context) error { return n.way.Ready() }

// PodCIDR returns the host's range of pod addresses; the zero Prefix when there is none yet.
func (n *Network) PodCIDR() netip.Prefix { return n.way.Range() }

// createNamespace makes a pod's HNS namespace.
func (n *Network) createNamespace(ctx context.Context, id, podID string) error {
	settings, err := json.Marshal(wire.Namespace{Type: wire.NamespaceHost, SchemaVersion: wire.SchemaVersion{Major: 2}})
	if err != nil {
		return err
	}

	_, err = n.cfg.HNS.Call(ctx, hns.Request{
		Function: "HcnCreateNamespace",
		New:      id,
		Text:     []string{string(settings)},
	})
	if err != nil {
		return err
	}

	return n.share(ctx, id, podID, "Add") // as the pause container does on Windows
}

// share adds a container to those of a pod's namespace, or removes it. The kubelet and others find a pod's traffic by
// the containers that share its endpoint.
func (n *Network) share(ctx context.Context, namespace, container, request string) error {
	return hcn.Modify(ctx, n.cfg.HNS, hcn.Namespace, namespace, request, wire.ResourceContainer,
		wire.NamespaceModify{ContainerId: container})
}

// Share records that a container of a pod runs, or no longer does, for which the pod need not be connected.
func (n *Network) Share(ctx context.Context, pod Pod, container string, runs bool) error {
	id, request := namespaceOf(pod.ID), "Add"
	if !runs {
		request = "Remove"
		if !n.exists(ctx, id) {
			return nil
		}
	}
	if err := n.share(ctx, id, container, request); err != nil {
		return fmt.Errorf("record container %q in the namespace of pod %s/%s: %w", container, pod.Namespace, pod.Name, err)
	}
	return nil
}

// exists reports whether HNS has the namespace.
func (n *Network) exists(ctx context.Context, namespace string) bool {
	_, err := n.cfg.HNS.Call(ctx, hns.Request{Function: "HcnOpenNamespace", Object: namespace})
	return err == nil
}
