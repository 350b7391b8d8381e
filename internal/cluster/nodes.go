package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// readyTimeout bounds a node's way from the start of its kubelet to Ready.
const readyTimeout = 3 * time.Minute

func clientFor(kubeconfig string) (kubernetes.Interface, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = 50, 100
	return kubernetes.NewForConfig(cfg)
}

// nodeReady is the component that is ready when a node is.
type nodeReady struct {
	node       string
	kubeconfig string
}

// Name is the component's name.
func (n *nodeReady) Name() string { return "node/" + n.node }

// Start waits until the API server has the node's Ready condition as true, set in this life of the kubelet.
func (n *nodeReady) Start(ctx context.Context) error {
	client, err := clientFor(n.kubeconfig)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	started := time.Now().Add(-time.Second) // conditions have whole seconds
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	why := "it has not registered"
	for {
		node, err := client.CoreV1().Nodes().Get(ctx, n.node, metav1.GetOptions{})
		if err == nil {
			var ready bool
			if ready, why = isReady(node, started); ready {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for node %q to be Ready: %s: %w", n.node, why, ctx.Err())
		case <-tick.C:
		}
	}
}

// Stop does nothing: the kubelet is a component of its own.
func (n *nodeReady) Stop(context.Context) error { return nil }

func isReady(node *corev1.Node, since time.Time) (bool, string) {
	for _, c := range node.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if c.Status == corev1.ConditionTrue && c.LastHeartbeatTime.After(since) {
			return true, ""
		}
		return false, c.Message
	}
	return false, "it has no Ready condition yet"
}

// podRoutes is the component that tells the underlay which node a range of pod addresses is behind, as the routers of a
// network with l2bridge nodes have to know. It follows spec.podCIDR of the nodes.
type podRoutes struct {
	kubeconfig string
	set        func(ctx context.Context, node string, cidr netip.Prefix) error
	log        *slog.Logger

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Name is the component's name.
func (r *podRoutes) Name() string { return "pod-routes" }

// Start returns when the nodes there are have been looked at.
func (r *podRoutes) Start(ctx context.Context) error {
	client, err := clientFor(r.kubeconfig)
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	factory := informers.NewSharedInformerFactory(client, time.Minute)
	informer := factory.Core().V1().Nodes().Informer()
	handle := func(obj any) {
		if node, ok := obj.(*corev1.Node); ok {
			r.apply(run, node)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: handle, UpdateFunc: func(_, obj any) { handle(obj) },
	}); err != nil {
		cancel()
		return err
	}
	r.done.Go(func() { informer.Run(run.Done()) })
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.Join(errors.New("the list of nodes did not arrive"), ctx.Err())
	}
	return nil
}

// Stop ends the watch; the routes stay.
func (r *podRoutes) Stop(context.Context) error {
	if r.cancel != nil {
		r.cancel()
		r.done.Wait()
	}
	return nil
}

func (r *podRoutes) apply(ctx context.Context, node *corev1.Node) {
	if node.Spec.PodCIDR == "" {
		return
	}
	cidr, err := netip.ParsePrefix(node.Spec.PodCIDR)
	if err == nil {
		err = r.set(ctx, node.Name, cidr)
	}
	if err != nil {
		r.log.Error("set the route to a node's pods", "node", node.Name, "cidr", node.Spec.PodCIDR, "error", err)
	}
}
