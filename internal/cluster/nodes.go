package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/process/proc"
)

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
	node   string
	client func() (kubernetes.Interface, error)
	// noCNI: a node that lacks nothing but a CNI plugin will do.
	noCNI bool
	// since is when the kubelet was not yet started. A node may be Ready before it is waited for here, and its kubelet
	// then has nothing to say for five minutes.
	since time.Time
}

// Name is the component's name.
func (n *nodeReady) Name() string { return "node/" + n.node }

// Start waits until the API server has the node's Ready condition as true, set in this life of the kubelet.
func (n *nodeReady) Start(ctx context.Context) error {
	client, err := n.client()
	if err != nil {
		return err
	}
	started := n.since.Add(-time.Second) // conditions have whole seconds
	begin, why := time.Now(), "the API has told nothing of it"
	var unanswered error // why the API's last answer says nothing of the node
	for {
		node, err := client.CoreV1().Nodes().Get(ctx, n.node, metav1.GetOptions{})
		switch {
		case err == nil:
			var ready bool
			if ready, why = isReady(node, started); ready || (n.noCNI && lacksCNI(why)) {
				return nil
			}
			unanswered = nil
		case apierrors.IsNotFound(err):
			why, unanswered = "it has not registered", nil
		case ctx.Err() == nil: // else the error is only that the time is over
			unanswered = err
		}
		select {
		case <-ctx.Done():
			return n.late(ctx.Err(), why, unanswered)
		case <-time.After(proc.Pace(200*time.Millisecond, time.Since(begin))):
		}
	}
}

// late is the error of a node that was not Ready in time. It says why not, and why the last question to the API failed.
func (n *nodeReady) late(end error, why string, unanswered error) error {
	if unanswered == nil {
		return fmt.Errorf("wait for node %q to be Ready: %s: %w", n.node, why, end)
	}
	return fmt.Errorf("wait for node %q to be Ready: %s; the last question to the API failed: %w: %w",
		n.node, why, unanswered, end)
}

// Stop does nothing: the kubelet is a component of its own.
func (n *nodeReady) Stop(context.Context) error { return nil }

// isReady reports whether the node's Ready condition is true and was set after since, and else why not.
func isReady(node *corev1.Node, since time.Time) (bool, string) {
	for _, c := range node.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		switch {
		case c.Status != corev1.ConditionTrue:
			return false, c.Message
		case !c.LastHeartbeatTime.After(since):
			return false, fmt.Sprintf(
				"its kubelet has told nothing since it was started; the node was Ready at %s, before that",
				c.LastHeartbeatTime.UTC().Format(time.RFC3339))
		}
		return true, ""
	}
	return false, "it has no Ready condition yet"
}

// lacksCNI says that a node's Ready condition has that complaint, and none besides but for the one that every node
// begins with: several are a list in brackets
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/nodestatus/setters.go, ReadyCondition).
func lacksCNI(message string) bool {
	message = strings.TrimSuffix(strings.TrimPrefix(message, "["), "]")
	message = strings.TrimSuffix(message, ", CSINode is not yet initialized")
	return strings.HasPrefix(message, "container runtime network not ready") &&
		strings.HasSuffix(message, "cni plugin not initialized")
}

// podRange says which node ranges of pod addresses are behind. No range: none is any more.
type podRange struct {
	node  string
	via   netip.Addr     // the node's own address
	cidrs []netip.Prefix // one of each family
	// router is the hardware address of the node's router in an overlay, as its machine has told the others; "" where
	// it has not.
	router string
}

// routerAnnotation is where a machine tells the others of its nodes' routers in an overlay.
const routerAnnotation = "mullion.dev/overlay-router"

// podRoutes is the component that tells the underlay which node a range of pod addresses is behind, as the routers of a
// network with l2bridge nodes have to know. It follows spec.podCIDRs of the nodes.
type podRoutes struct {
	client func() (kubernetes.Interface, error)
	set    func(ctx context.Context, node podRange) error
	seen   func(ctx context.Context, node *corev1.Node) // is told each node too; may be nil
	log    *slog.Logger

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Name is the component's name.
func (r *podRoutes) Name() string { return "pod-routes" }

// Start returns when the nodes there are have been looked at.
func (r *podRoutes) Start(ctx context.Context) error {
	client, err := r.client()
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	factory := informers.NewSharedInformerFactory(client, time.Minute)
	informer := factory.Core().V1().Nodes().Informer()
	handle := func(obj any) {
		if node, ok := obj.(*corev1.Node); ok {
			r.apply(run, node, node.Spec.PodCIDRs)
			if r.seen != nil {
				r.seen(run, node)
			}
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
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

// apply sets the routes to a node's pods, those of cidrs; without any, it removes them. A node that has not told its
// address yet is looked at when it has.
func (r *podRoutes) apply(ctx context.Context, node *corev1.Node, cidrs []string) {
	via := internalAddress(node)
	if !via.IsValid() || len(node.Spec.PodCIDRs) == 0 {
		return
	}
	to := podRange{node: node.Name, via: via, router: node.Annotations[routerAnnotation]}
	var errs []error
	for _, text := range cidrs {
		cidr, err := netip.ParsePrefix(text)
		to.cidrs, errs = append(to.cidrs, cidr), append(errs, err)
	}
	err := errors.Join(errs...)
	if err == nil {
		err = r.set(ctx, to)
	}
	if err != nil {
		r.log.Error("set the routes to a node's pods", "node", node.Name, "cidrs", cidrs, "error", err)
	}
}

// internalAddress is the node's IPv4 address on the underlay; the zero Addr where it has not told it.
func internalAddress(node *corev1.Node) netip.Addr {
	for _, a := range node.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); a.Type == corev1.NodeInternalIP && err == nil && addr.Is4() {
			return addr
		}
	}
	return netip.Addr{}
}
