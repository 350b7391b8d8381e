package loadbalancer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// The first and the longest pause between tries for one Service, upstream's:
// https://github.com/kubernetes/cloud-provider/blob/v0.37.1/controllers/service/controller.go
const (
	retryFirst = 5 * time.Second
	retryMost  = 5 * time.Minute
)

// finalizer keeps a Service until its address is free, under upstream's name:
// https://github.com/kubernetes/cloud-provider/blob/v0.37.1/service/helpers/helper.go
const finalizer = "service.kubernetes.io/load-balancer-cleanup"

// eventSource is who says the events, as users of clouds know it.
const eventSource = "service-controller"

// balancer gives Services their addresses: it keeps the finalizer, writes the status and the events, under the names
// that upstream's service controller has.
//
//	of type LoadBalancer:      finalizer ─▶ address chosen ─▶ status
//	deleted, or of no such type: address freed ─▶ no finalizer ─▶ empty status
type balancer struct {
	client    kubeclient.Interface
	services  cache.Store
	addresses *allocator
	log       *slog.Logger

	queue workqueue.TypedRateLimitingInterface[string]
}

// newBalancer returns a balancer for the Services of an informer that does not run yet.
func newBalancer(cfg Config, client kubeclient.Interface, services cache.SharedIndexInformer) (*balancer, error) {
	b := &balancer{
		client:   client,
		services: services.GetStore(),
		log:      cfg.Log,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryFirst, retryMost)),
	}

	b.addresses = newAllocator(cfg.Pools, func() []*corev1.Service {
		return kubeclient.Stored[*corev1.Service](b.services)
	})

	_, err := services.AddEventHandler(cache.ResourceEventHandlerFuncs{
		// What changed while no controller ran is seen here.
		AddFunc: func(object any) {
			if s, ok := object.(*corev1.Service); ok && (ours(s) || leaves(s)) {
				b.add(s)
			}
		},
		UpdateFunc: func(before, now any) {
			old, _ := before.(*corev1.Service)
			if s, ok := now.(*corev1.Service); ok && old != nil && (changed(old, s) || leaves(s)) {
				b.add(s)
			}
		},
		// A Service is gone only when its finalizer is, and then its address is free.
	})

	return b, err
}

func (b *balancer) add(s *corev1.Service) { b.queue.Add(s.Namespace + "/" + s.Name) }

// leaves reports whether a Service with an address must not have one any more.
func leaves(s *corev1.Service) bool {
	return slices.Contains(s.Finalizers, finalizer) &&
		(s.DeletionTimestamp != nil || s.Spec.Type != corev1.ServiceTypeLoadBalancer)
}

// changed reports whether there is something to do for a Service: what the controller itself writes does not count.
func changed(old, s *corev1.Service) bool {
	if !ours(old) && !ours(s) {
		return false
	}
	return old.UID != s.UID || !equality.Semantic.DeepEqual(old.Spec, s.Spec) ||
		!equality.Semantic.DeepEqual(old.Annotations, s.Annotations)
}

// run works until ctx is over. One worker suffices: it waits for nothing but the API.
func (b *balancer) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, b.queue.ShutDown)
	defer stop()
	for b.next(ctx) {
	}
}

// next does what there is to do for one Service; false says that the work is over.
func (b *balancer) next(ctx context.Context) bool {
	key, shutdown := b.queue.Get()
	if shutdown {
		return false
	}
	defer b.queue.Done(key)

	err := b.sync(ctx, key)
	var taken *takenError
	switch {
	case ctx.Err() != nil:
		return false
	case err == nil:
		b.queue.Forget(key)
	case errors.As(err, &taken):
		b.queue.AddAfter(key, retryFull)
	default:
		b.log.WarnContext(ctx, "give a service its address", "service", key, "error", err)
		b.queue.AddRateLimited(key)
	}

	return true
}

// sync makes one Service have its addresses, or none.
func (b *balancer) sync(ctx context.Context, key string) error {
	object, exists, err := b.services.GetByKey(key)
	s, ok := object.(*corev1.Service)
	if err != nil || !exists || !ok {
		return err
	}

	if ours(s) && !leaves(s) {
		err = b.ensure(ctx, s)
	} else {
		err = b.remove(ctx, s)
	}

	if err != nil {
		b.say(ctx, s, corev1.EventTypeWarning, "SyncLoadBalancerFailed", "Error syncing load balancer: "+err.Error())
	}

	return err
}

// ensure gives the Service its addresses. The finalizer comes first: without it the Service could be gone before its
// address is free.
func (b *balancer) ensure(ctx context.Context, s *corev1.Service) error {
	b.say(ctx, s, corev1.EventTypeNormal, "EnsuringLoadBalancer", "Ensuring load balancer")
	if !slices.Contains(s.Finalizers, finalizer) {
		if err := b.patch(ctx, s, map[string]any{"metadata": map[string]any{"finalizers": []string{finalizer}}}); err != nil {
			return fmt.Errorf("add the finalizer: %w", err)
		}
	}

	given, err := b.addresses.give(s)
	if err != nil {
		return fmt.Errorf("ensure load balancer: %w", err)
	}
	b.say(ctx, s, corev1.EventTypeNormal, "EnsuredLoadBalancer", "Ensured load balancer")
	return b.setStatus(ctx, s, given)
}

// remove takes the Service's addresses from it.
func (b *balancer) remove(ctx context.Context, s *corev1.Service) error {
	if b.addresses.has(s) {
		b.say(ctx, s, corev1.EventTypeNormal, "DeletingLoadBalancer", "Deleting load balancer")
		b.addresses.free(s)
	}

	if slices.Contains(s.Finalizers, finalizer) {
		err := b.patch(ctx, s, map[string]any{"metadata": map[string]any{
			"$deleteFromPrimitiveList/finalizers": []string{finalizer},
		}})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove the finalizer: %w", err)
		}
	}
	b.say(ctx, s, corev1.EventTypeNormal, "DeletedLoadBalancer", "Deleted load balancer")
	return b.setStatus(ctx, s, nil)
}

// patch changes what others may change at the same time too: the finalizers.
func (b *balancer) patch(ctx context.Context, s *corev1.Service, change map[string]any) error {
	text, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = b.client.CoreV1().Services(s.Namespace).Patch(ctx, s.Name, types.StrategicMergePatchType, text,
		metav1.PatchOptions{})
	return err
}

// setStatus writes the addresses into the status. A Service that is gone has none.
func (b *balancer) setStatus(ctx context.Context, s *corev1.Service, addresses []corev1.LoadBalancerIngress) error {
	if equality.Semantic.DeepEqual(s.Status.LoadBalancer.Ingress, addresses) {
		return nil
	}
	text, err := json.Marshal(map[string]any{"status": map[string]any{
		"loadBalancer": map[string]any{"ingress": addresses},
	}})
	if err != nil {
		return err
	}

	_, err = b.client.CoreV1().Services(s.Namespace).Patch(ctx, s.Name, types.MergePatchType, text,
		metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the load balancer's status: %w", err)
	}

	return nil
}

// say tells of an event; that it cannot be told keeps nobody from an address.
func (b *balancer) say(ctx context.Context, s *corev1.Service, kind, reason, message string) {
	event := kubeclient.Event{
		Component: eventSource,
		Type:      kind,
		Reason:    reason,
		Message:   message,
	}
	if err := kubeclient.Record(ctx, b.client, s, event); err != nil && ctx.Err() == nil {
		b.log.WarnContext(ctx, "tell of a service's event", "service", s.Namespace+"/"+s.Name, "error", err)
	}
}
