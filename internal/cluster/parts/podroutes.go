package parts

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/process/component"
)

// PodRange maps a node to its pod CIDRs. An empty list removes the node's routes.
type PodRange struct {
	Node  string
	Via   netip.Addr     // the node's own address
	CIDRs []netip.Prefix // one of each family
	// Router is the hardware address of the node's router in an overlay, "" before the node's machine has published it.
	Router string
}

// routerAnnotation is where a machine publishes its nodes' routers in an overlay, for the other machines.
const routerAnnotation = "mullion.dev/overlay-router"

// PublishRouter writes a router's hardware address into its Node. The client needs no more than the node's own rights.
func PublishRouter(ctx context.Context, client kubeclient.Interface, node, router string) error {
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"annotations": map[string]string{routerAnnotation: router}}})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "mullion"})
	return err
}

// PodRoutesUnit returns the unit that PodRoutes is.
func PodRoutesUnit() component.ID { return component.Sole("pod-routes") }

// PodRoutes is the component that tells the network which node a range of pod addresses is behind; it follows
// spec.podCIDRs of the nodes.
type PodRoutes struct {
	Client func() (kubeclient.Interface, error)
	Set    func(ctx context.Context, node PodRange) error
	// Seen is called with each node after its routes are set; may be nil.
	Seen func(ctx context.Context, node *corev1.Node)
	// Known is called once with the addresses of all nodes there are; may be nil.
	Known func(ctx context.Context, nodes []netip.Addr) error
	Log   *slog.Logger

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// ID implements component.Component.
func (r *PodRoutes) ID() component.ID { return PodRoutesUnit() }

// Start returns when the nodes there are have been looked at.
func (r *PodRoutes) Start(ctx context.Context) error {
	client, err := r.Client()
	if err != nil {
		return err
	}

	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	informer := client.CoreV1().Nodes().Informer(time.Minute)
	handle := func(obj any) {
		if node, ok := obj.(*corev1.Node); ok {
			r.apply(run, node, node.Spec.PodCIDRs)
			if r.Seen != nil {
				r.Seen(run, node)
			}
		}
	}

	handled, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    handle,
		UpdateFunc: func(_, obj any) { handle(obj) },
		DeleteFunc: func(obj any) {
			if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			if node, ok := obj.(*corev1.Node); ok {
				r.apply(run, node, nil)
			}
		},
	})
	if err != nil {
		cancel()
		return err
	}

	r.done.Go(func() { informer.Run(run.Done()) })
	if !cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
		return errors.Join(errors.New("the list of nodes did not arrive"), ctx.Err())
	}
	if r.Known == nil {
		return nil
	}

	var known []netip.Addr
	for _, obj := range informer.GetStore().List() {
		if node, ok := obj.(*corev1.Node); ok {
			known = append(known, InternalAddress(node))
		}
	}

	return r.Known(ctx, known)
}

// Stop ends the watch; the routes stay.
func (r *PodRoutes) Stop(context.Context) error {
	if r.cancel != nil {
		r.cancel()
		r.done.Wait()
	}
	return nil
}

// apply sets the routes to a node's pods, those in cidrs; if cidrs is empty, it removes them. A Node without an address
// is skipped: it is seen again when it gets one.
func (r *PodRoutes) apply(ctx context.Context, node *corev1.Node, cidrs []string) {
	via := InternalAddress(node)
	if !via.IsValid() || len(node.Spec.PodCIDRs) == 0 {
		return
	}

	to := PodRange{
		Node:   node.Name,
		Via:    via,
		Router: node.Annotations[routerAnnotation],
	}

	var errs []error
	for _, text := range cidrs {
		cidr, err := netip.ParsePrefix(text)
		to.CIDRs, errs = append(to.CIDRs, cidr), append(errs, err)
	}

	err := errors.Join(errs...)
	if err == nil {
		err = r.Set(ctx, to)
	}
	if err != nil {
		r.Log.Error("set the routes to a node's pods", "node", node.Name, "cidrs", cidrs, "error", err)
	}
}

// InternalAddress returns the node's IPv4 address on the underlay; the zero Addr if its Node does not name it yet.
func InternalAddress(node *corev1.Node) netip.Addr {
	for _, a := range node.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); a.Type == corev1.NodeInternalIP && err == nil && addr.Is4() {
			return addr
		}
	}
	return netip.Addr{}
}
