package parts

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PodCIDRs tells hosts the ranges of their nodes' pod addresses, where the kubelet does not: it tells its container
// runtime, and that is containerd.exe there, which makes no HNS network.
type PodCIDRs struct {
	// Set tells a host the ranges, those of each family joined by a comma, by the node's name.
	Set map[string]func(ctx context.Context, cidrs string) error
	Log *slog.Logger

	told map[string][]string
}

// podCIDRPatience bounds the telling: the routes to other nodes wait for it meanwhile.
const podCIDRPatience = 20 * time.Second

// Seen is called with a node whenever something of it has changed, by one goroutine (PodRoutes.Seen). What a host could
// not be told is told when the node is seen again: its kubelet changes something every few seconds until it is Ready.
func (p *PodCIDRs) Seen(ctx context.Context, node *corev1.Node) {
	set, ranges := p.Set[node.Name], node.Spec.PodCIDRs
	if set == nil || len(ranges) == 0 || slices.Equal(p.told[node.Name], ranges) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, podCIDRPatience)
	defer cancel()
	if err := set(ctx, strings.Join(ranges, ",")); err != nil {
		p.Log.Warn("tell a host its pods' addresses", "node", node.Name, "error", err)
		return
	}

	if p.told == nil {
		p.told = map[string][]string{}
	}
	p.told[node.Name] = ranges
}
