package parts

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/machines/kubeadm"
)

// ForeignNetwork follows the nodes of a cluster that Mullion did not make. It makes this machine's nodes known to
// flannel, and logs when the cluster's pod network is one that pods here cannot reach.
type ForeignNetwork struct {
	// Own are the names of this machine's nodes, Client makes a client with the rights of one of them.
	Own    []string
	Client func(node string) (kubeclient.Interface, error)
	Log    *slog.Logger

	mu      sync.Mutex
	flannel bool
	waiting map[string]netip.Addr // nodes of this machine that flannel does not know yet
	warned  map[string]bool
}

// Seen records a node. Where others' pods are routed by flannel, it is told of this machine's nodes.
func (f *ForeignNetwork) Seen(ctx context.Context, node *corev1.Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting == nil {
		f.waiting, f.warned = map[string]netip.Addr{}, map[string]bool{}
	}

	switch {
	case !slices.Contains(f.Own, node.Name):
		f.flannel = f.flannel || kubeadm.Flannel(node)
		if err := kubeadm.CheckNetwork(node); err != nil && !f.warned[node.Name] {
			f.warned[node.Name] = true
			f.Log.Error("pods here and there will not reach each other", "error", err)
		}

	case kubeadm.Flannel(node):
		delete(f.waiting, node.Name)
	default:
		f.waiting[node.Name] = InternalAddress(node)
	}

	for name, address := range f.waiting {
		if !f.flannel || !address.IsValid() {
			continue
		}

		client, err := f.Client(name)
		if err == nil {
			err = kubeadm.JoinFlannel(ctx, client, name, address)
		}
		if err != nil {
			f.Log.Error("tell flannel of a node", "node", name, "error", err)
			continue
		}
		delete(f.waiting, name)
	}
}
