package enforcer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/network/policy"
	"mullion.dev/mullion/internal/network/policy/cover"
	"mullion.dev/mullion/internal/network/policy/filter"
)

// Unit is the name of the component.
const Unit = "network-policy"

const (
	// gather is the time during which changes are collected before the tables are changed once.
	gather = 20 * time.Millisecond
	// repairEvery is the time between two looks whether somebody else has changed the tables.
	repairEvery = 5 * time.Second
	// retryAfter is the time before the next try after a failure.
	retryAfter = time.Second
	// seenSoon is how long a pod that the API has may be missing in the watch, and lookEvery the time between looks.
	seenSoon  = 2 * time.Second
	lookEvery = 5 * time.Millisecond
	// forgetAfter is how long addresses are kept of a pod that the watch does not show.
	forgetAfter = time.Minute
)

// Node is a node of the machine.
type Node struct {
	Name string
	// Netns is its pinned network namespace.
	Netns string
	// Socket is where its pods' addresses are told (package cover).
	Socket string
}

// Config is what the enforcer needs to know of the cluster.
type Config struct {
	// Client returns a client for the cluster's API, once it answers.
	Client func() (kubeclient.Interface, error)
	Nodes  []Node
	Log    *slog.Logger
}

// Enforcer is the component.
type Enforcer struct {
	cfg        Config
	client     kubeclient.Interface
	pods       cache.Store
	namespaces cache.Store
	policies   cache.Store
	wake       chan struct{}
	cancel     context.CancelFunc
	done       sync.WaitGroup

	mu      sync.Mutex // guards what follows, and the tables
	filters []*filter.Filter
	known   map[types.UID]known
	failure error
}

// known are addresses of a pod that were told here.
type known struct {
	addrs []netip.Addr
	at    time.Time
}

// New returns the component, not started.
func New(cfg Config) *Enforcer {
	e := &Enforcer{
		cfg:   cfg,
		wake:  make(chan struct{}, 1),
		known: map[types.UID]known{},
	}
	for _, n := range cfg.Nodes {
		e.filters = append(e.filters, &filter.Filter{Netns: n.Netns})
	}
	return e
}

// Start returns when the policies there are have been carried out.
func (e *Enforcer) Start(ctx context.Context) error {
	var err error
	if e.client, err = e.cfg.Client(); err != nil {
		return err
	}

	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.cancel = cancel
	if err := e.watch(ctx, run); err != nil {
		return err
	}
	if err := e.recall(ctx); err != nil {
		return err
	}

	if err := e.sync(ctx); err != nil {
		return err
	}

	e.done.Go(func() { e.follow(run) })
	for i, n := range e.cfg.Nodes {
		e.done.Go(func() { e.serve(run, i, n.Socket) })
	}

	return nil
}

// serve takes pods' addresses of one node until ctx ends.
func (e *Enforcer) serve(ctx context.Context, node int, socket string) {
	for ctx.Err() == nil {
		err := cover.Serve(ctx, socket, func(ctx context.Context, p cover.Pod) error { return e.cover(ctx, node, p) },
			e.cfg.Log)
		if err != nil {
			e.cfg.Log.Error("take addresses of pods", "node", e.cfg.Nodes[node].Name, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

// Stop ends the watch; the tables stay, and so do pods' policies.
func (e *Enforcer) Stop(context.Context) error {
	if e.cancel != nil {
		e.cancel()
		e.done.Wait()
	}
	return nil
}

// Probe implements component.Prober.
func (e *Enforcer) Probe(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failure
}

// watch returns when the objects there are have been read.
func (e *Enforcer) watch(ctx, run context.Context) error {
	pods := e.client.CoreV1().Pods("").Informer(0)
	namespaces := e.client.CoreV1().Namespaces().Informer(0)
	policies := e.client.NetworkingV1().NetworkPolicies("").Informer(0)
	e.pods, e.namespaces = pods.GetStore(), namespaces.GetStore()
	e.policies = policies.GetStore()
	var synced []cache.InformerSynced
	all := []cache.SharedIndexInformer{pods, namespaces, policies}
	for _, informer := range all {
		if err := informer.SetTransform(lean); err != nil {
			return err
		}

		registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { e.changed() },
			UpdateFunc: func(_, _ any) { e.changed() },
			DeleteFunc: func(any) { e.changed() },
		})
		if err != nil {
			return err
		}
		synced = append(synced, registered.HasSynced)
	}

	for _, informer := range all {
		e.done.Go(func() { informer.RunWithContext(run) })
	}

	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return errors.Join(errors.New("read pods, namespaces and network policies: the lists did not arrive"), ctx.Err())
	}

	return nil
}

// lean leaves of an object what policies see of it.
func lean(obj any) (any, error) {
	switch o := obj.(type) {
	case *corev1.Pod:
		o.ManagedFields = nil
		o.Spec = corev1.PodSpec{
			NodeName:        o.Spec.NodeName,
			HostNetwork:     o.Spec.HostNetwork,
			SecurityContext: o.Spec.SecurityContext,
			Containers:      leanContainers(o.Spec.Containers),
			InitContainers:  leanContainers(o.Spec.InitContainers),
		}
		o.Status = corev1.PodStatus{Phase: o.Status.Phase, PodIPs: o.Status.PodIPs}

	case metav1.Object:
		o.SetManagedFields(nil)
	}

	return obj, nil
}

func leanContainers(all []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for _, c := range all {
		out = append(out, corev1.Container{
			Name:          c.Name,
			Ports:         c.Ports,
			RestartPolicy: c.RestartPolicy,
		})
	}
	return out
}

func (e *Enforcer) changed() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// recall reads back what an earlier process was told.
func (e *Enforcer) recall(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.filters {
		found, err := f.Addresses(ctx)
		if err != nil {
			return err
		}
		for uid := range found {
			e.known[uid] = known{found[uid], time.Now()}
		}
	}

	return nil
}

// follow changes the tables whenever something changed, and repairs them.
func (e *Enforcer) follow(ctx context.Context) {
	repair := time.NewTicker(repairEvery)
	defer repair.Stop()

	for {
		var again <-chan time.Time
		if e.Probe(ctx) != nil {
			again = time.After(retryAfter)
		}

		select {
		case <-ctx.Done():
			return
		case <-e.wake:
			select {
			case <-ctx.Done():
				return
			case <-time.After(gather):
			}

		case <-again:
		case <-repair.C:
			e.check(ctx)
		}

		if err := e.sync(ctx); err != nil && ctx.Err() == nil {
			e.cfg.Log.Error("carry out network policies", "error", err)
		}
	}
}

// check looks whether the tables are as they were left.
func (e *Enforcer) check(ctx context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.filters {
		if err := f.Check(ctx); err != nil && ctx.Err() == nil {
			e.cfg.Log.Error("look at network policies", "error", err)
		}
	}
}

// sync makes the tables of all nodes say what the policies say now.
func (e *Enforcer) sync(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	objects := policy.Objects{
		Pods:       kubeclient.Stored[*corev1.Pod](e.pods),
		Namespaces: kubeclient.Stored[*corev1.Namespace](e.namespaces),
		Policies:   kubeclient.Stored[*networkingv1.NetworkPolicy](e.policies),
	}

	e.forget(objects.Pods)
	objects.Known = policy.Addresses{}
	for uid, k := range e.known {
		objects.Known[uid] = k.addrs
	}

	cluster := policy.Compile(objects)
	var errs []error
	for i, f := range e.filters {
		changed, err := f.Apply(ctx, cluster.Ruleset(e.cfg.Nodes[i].Name))
		if changed {
			e.cfg.Log.Debug("network policies were carried out", "node", e.cfg.Nodes[i].Name)
		}
		errs = append(errs, err)
	}

	e.failure = errors.Join(errs...)
	return e.failure
}

// forget drops addresses of pods that have ended.
func (e *Enforcer) forget(pods []*corev1.Pod) {
	there := map[types.UID]bool{}
	for _, p := range pods {
		there[p.UID] = p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
	}
	for uid, k := range e.known {
		alive, seen := there[uid]
		if (seen && !alive) || (!seen && time.Since(k.at) > forgetAfter) {
			delete(e.known, uid)
		}
	}
}

// cover carries out the policies of a pod that was given addresses on a node.
func (e *Enforcer) cover(ctx context.Context, node int, p cover.Pod) error {
	if len(p.Addresses) == 0 || p.Namespace == "" || p.Name == "" {
		return fmt.Errorf("a pod has a namespace, a name and addresses, not %+v", p)
	}

	found, err := e.find(ctx, p)
	if found == nil || err != nil {
		return err
	}
	if on := e.cfg.Nodes[node].Name; found.Spec.NodeName != on {
		return fmt.Errorf("pod %s/%s is on node %q, not %q", p.Namespace, p.Name, found.Spec.NodeName, on)
	}
	e.remember(found.UID, p)
	return e.sync(ctx)
}

// remember keeps a pod's addresses. Whose they were before has ended.
func (e *Enforcer) remember(uid types.UID, p cover.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for other, k := range e.known {
		if slices.ContainsFunc(p.Addresses, func(a netip.Addr) bool { return slices.Contains(k.addrs, a) }) {
			delete(e.known, other)
		}
	}
	e.known[uid] = known{p.Addresses, time.Now()}
}

// find returns a pod as the watch shows it. It returns nil for a pod that the API does not have, such as one that
// crictl made: no policy selects it.
func (e *Enforcer) find(ctx context.Context, p cover.Pod) (*corev1.Pod, error) {
	if pod := e.seen(p); pod != nil {
		return pod, nil
	}

	pod, err := e.client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !calledBy(pod, p.UID):
		return nil, fmt.Errorf("pod %s/%s has the UID %s by now, not %s", p.Namespace, p.Name, pod.UID, p.UID)
	}

	look := time.NewTicker(lookEvery)
	defer look.Stop()

	for late := time.After(seenSoon); ; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-late:
			return nil, fmt.Errorf("the watch does not show pod %s/%s, which the API has", p.Namespace, p.Name)
		case <-look.C:
		}

		if pod := e.seen(p); pod != nil {
			return pod, nil
		}
	}
}

func (e *Enforcer) seen(p cover.Pod) *corev1.Pod {
	obj, _, err := e.pods.GetByKey(p.Namespace + "/" + p.Name)
	if pod, ok := obj.(*corev1.Pod); ok && err == nil && calledBy(pod, p.UID) {
		return pod
	}
	return nil
}

// calledBy reports whether a kubelet calls the pod by that UID. It has a static pod under the hash of its file, which
// the pod's object in the API names in an annotation
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubelet/types/pod_update.go, ConfigHashAnnotationKey).
func calledBy(pod *corev1.Pod, uid string) bool {
	return string(pod.UID) == uid || (uid != "" && pod.Annotations["kubernetes.io/config.hash"] == uid)
}
