package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	hnsserver "mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/network/policy/cover"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/runtime/cri"
)

// pinDir returns the folder of pods' pinned network namespaces, shared by the data plane, which makes them, and podnet.
func (a *agent) pinDir() string { return filepath.Join(a.config.RunDir, "netns") }

// openNetwork connects pods with the CNI plugins that run on the Windows host.
func (a *agent) openNetwork(service *hnsserver.Service) (*podnet.Network, error) {
	host, err := winhost.Load(a.config.HostFile)
	if err != nil {
		return nil, err
	}

	var local []netip.Prefix
	for _, p := range []netip.Prefix{
		a.config.PodSubnet, a.config.ServiceSubnet, a.config.NodeSubnet,
		a.config.IPv6.Pods, a.config.IPv6.Services, a.config.IPv6.Nodes,
	} {
		if p.IsValid() {
			local = append(local, p)
		}
	}

	return podnet.New(podnet.Config{
		Mode:      a.config.Network.Mode,
		Address:   a.config.Address,
		Shared:    podnet.Shared(a.config.Network.Shared),
		Pods:      a.config.PodSubnet,
		Services:  a.config.ServiceSubnet,
		DualStack: a.config.IPv6.Pods.IsValid(),
		HNS:       service,
		Exec:      hostPrograms{host},
		Drive:     a.config.Drive,
		PinDir:    a.pinDir(),
		CacheDir:  filepath.Join(a.config.StateDir, "cni"),
		Local:     local,
		Installed: a.config.Network.NoCNI,
	})
}

// hostPrograms runs CNI plugins on the Windows host.
type hostPrograms struct{ host winhost.Host }

// Run implements podnet.Exec.
func (h hostPrograms) Run(ctx context.Context, program string, env []string, stdin []byte) ([]byte, error) {
	return h.host.Output(ctx, stdin, env, program)
}

// network is podnet.Network as the CRI server wants it. Unless policies is empty, it is the socket at which pods get
// their network policies.
type network struct {
	*podnet.Network
	policies string
}

func podOf(p cri.Pod) podnet.Pod {
	pod := podnet.Pod{
		ID:        p.ID,
		Name:      p.Name,
		Namespace: p.Namespace,
		UID:       p.UID,
		DNS:       podnet.DNS(p.DNS),
	}
	for _, port := range p.Ports {
		pod.Ports = append(pod.Ports, podnet.PortMapping(port))
	}
	return pod
}

// Setup implements cri.Network. When it returns, the pod's network policies are carried out.
func (n network) Setup(ctx context.Context, pod cri.Pod) (cri.PodNetwork, error) {
	result, err := n.Network.Setup(ctx, podOf(pod))
	if err != nil {
		return cri.PodNetwork{}, err
	}

	if n.policies != "" {
		of := cover.Pod{
			Namespace: pod.Namespace,
			Name:      pod.Name,
			UID:       pod.UID,
			Addresses: result.IPs,
		}
		if err := cover.Ask(ctx, n.policies, of); err != nil {
			return cri.PodNetwork{}, errors.Join(err, n.Network.Teardown(context.WithoutCancel(ctx), podOf(pod)))
		}
	}

	connected := cri.PodNetwork{NetNS: result.NetNS}
	for _, ip := range result.IPs {
		connected.IPs = append(connected.IPs, ip.String())
	}

	return connected, nil
}

// Teardown implements cri.Network. What Setup did is found by the pod's ID.
func (n network) Teardown(ctx context.Context, pod cri.Pod, _ cri.PodNetwork) error {
	return n.Network.Teardown(ctx, podOf(pod))
}

// Share implements cri.Network.
func (n network) Share(ctx context.Context, pod cri.Pod, container string, runs bool) error {
	return n.Network.Share(ctx, podOf(pod), container, runs)
}

// Stats implements cri.Network.
func (n network) Stats(ctx context.Context, pod cri.Pod) (cri.NetworkStats, error) {
	stats := cri.NetworkStats{At: time.Now()}
	interfaces, err := n.Network.Stats(ctx, podOf(pod))
	if err != nil {
		return cri.NetworkStats{}, err
	}
	for _, i := range interfaces {
		stats.Interfaces = append(stats.Interfaces, cri.InterfaceStats(i))
	}
	return stats, nil
}

// SetPodCIDR implements cri.Network.
func (n network) SetPodCIDR(ctx context.Context, cidrs string) error {
	var ranges []netip.Prefix
	for cidr := range strings.SplitSeq(cidrs, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(cidr))
		if err != nil {
			return fmt.Errorf("set pod CIDR: %w", err)
		}
		ranges = append(ranges, prefix)
	}
	return n.Network.SetPodCIDR(ctx, ranges...)
}
