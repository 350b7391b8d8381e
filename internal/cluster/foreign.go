package cluster

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/process/component"
)

// What a machine does in a cluster that Mullion did not make is what it does in one of several machines, except: its
// nodes stand on its own network (underlay.LAN), it has no part of an underlay, and what kubeadm does not let nodes do
// waits until they may.

// foreign makes a component wait for a node's rights where the cluster is not Mullion's.
func (c *composer) foreign(part component.Component, node string) component.Component {
	if !c.Spec.Foreign() {
		return part
	}
	g := &granted{
		Component: part,
		log:       c.Log,
		allowed: func(ctx context.Context) error {
			client, err := c.nodeClient(node)
			if err != nil {
				return err
			}
			return kubeadm.Allowed(ctx, client, node)
		},
	}
	if c.Spec.Join.Foreign.Granted {
		g.patience = grantTimeout
	}
	return g
}

// foreignUnits makes a Windows node's kube-proxy wait for its rights.
func (c *composer) foreignUnits(units []component.Unit, node, proxy string) []component.Unit {
	for i, u := range units {
		if u.Name() == proxy {
			units[i].Component = c.foreign(u.Component, node)
		}
	}
	return units
}

// foreignNodes follows the cluster's nodes, for the pod network that they have made among themselves.
type foreignNodes struct {
	own    []string
	client func(node string) (kubernetes.Interface, error)
	log    *slog.Logger

	mu      sync.Mutex
	flannel bool
	waiting map[string]netip.Addr // nodes of this machine that flannel is not told of
	warned  map[string]bool
}

// seen takes a node up. Where others' pods are routed by flannel, it is told of this machine's nodes.
func (f *foreignNodes) seen(ctx context.Context, node *corev1.Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !slices.Contains(f.own, node.Name):
		f.flannel = f.flannel || kubeadm.Flannel(node)
		if err := kubeadm.CheckNetwork(node); err != nil && !f.warned[node.Name] {
			f.warned[node.Name] = true
			f.log.Error("pods here and there will not reach each other", "error", err)
		}
	case kubeadm.Flannel(node):
		delete(f.waiting, node.Name)
	default:
		f.waiting[node.Name] = internalAddress(node)
	}
	for name, address := range f.waiting {
		if !f.flannel || !address.IsValid() {
			continue
		}
		client, err := f.client(name)
		if err == nil {
			err = kubeadm.JoinFlannel(ctx, client, name, address)
		}
		if err != nil {
			f.log.Error("tell flannel of a node", "node", name, "error", err)
			continue
		}
		delete(f.waiting, name)
	}
}

// observer is what follows nodes besides their routes; nil where the cluster is Mullion's.
func (c *composer) observer() func(context.Context, *corev1.Node) {
	if !c.Spec.Foreign() {
		return nil
	}
	f := &foreignNodes{
		own:     c.names(),
		client:  c.nodeClient,
		log:     c.Log,
		waiting: map[string]netip.Addr{},
		warned:  map[string]bool{},
	}
	return f.seen
}

// foreignRoute sets routes of the family that such a machine has.
func (c *composer) foreignRoute(ctx context.Context, to podRange) error {
	to.cidrs = slices.DeleteFunc(to.cidrs, func(p netip.Prefix) bool { return !p.Addr().Is4() })
	return c.underlay.SetPodRoute(ctx, to.via, to.cidrs...)
}
