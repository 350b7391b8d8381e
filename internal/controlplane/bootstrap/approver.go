package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// How long and how often a request is checked again if its node has not registered, or has not reported its addresses
// yet.
const (
	retryFirst = 200 * time.Millisecond
	retryMost  = 10 * time.Second
	retryUntil = 15 * time.Minute // after that the kubelet makes a new request
)

// approver approves kubelets' requests for serving certificates. Requests that must not be approved are logged and left
// pending, because somebody else may approve them.
type approver struct {
	client kubeclient.Interface
	policy ServingPolicy
	log    *slog.Logger

	queue workqueue.TypedRateLimitingInterface[string]
	store cache.Store
	ctrl  cache.Controller
}

func newApprover(client kubeclient.Interface, policy ServingPolicy, log *slog.Logger) *approver {
	a := &approver{
		client: client,
		policy: policy,
		log:    log,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryFirst, retryMost)),
	}

	add := func(object any) {
		if csr, ok := object.(*certv1.CertificateSigningRequest); ok {
			a.queue.Add(csr.Name)
		}
	}

	a.store, a.ctrl = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: client.CertificatesV1().CertificateSigningRequests().ListWatch(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("spec.signerName", certv1.KubeletServingSignerName).String()
		}),
		ObjectType: &certv1.CertificateSigningRequest{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    add,
			UpdateFunc: func(_, object any) { add(object) },
		},
	})

	return a
}

// run works until ctx is over.
func (a *approver) run(ctx context.Context) {
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		a.ctrl.RunWithContext(ctx)
	}()
	stop := context.AfterFunc(ctx, a.queue.ShutDown)
	defer stop()
	for a.next(ctx) {
	}
	<-watched
}

// next handles one request; false says that the work is over.
func (a *approver) next(ctx context.Context) bool {
	name, shutdown := a.queue.Get()
	if shutdown {
		return false
	}
	defer a.queue.Done(name)

	again, err := a.handle(ctx, name)
	switch {
	case ctx.Err() != nil:
		return false
	case again:
		a.queue.AddRateLimited(name)
	default:
		a.queue.Forget(name)
		if err != nil {
			a.log.WarnContext(ctx, "left a request for a serving certificate pending", "request", name, "reason", err)
		}
	}

	return true
}

// handle approves the request if the policy permits it. again says that the request must be checked again later.
func (a *approver) handle(ctx context.Context, name string) (again bool, err error) {
	object, exists, err := a.store.GetByKey(name)
	if err != nil || !exists {
		return false, err
	}
	csr, ok := object.(*certv1.CertificateSigningRequest)
	if !ok || len(csr.Status.Conditions) > 0 {
		return false, nil
	}

	nodeName, err := nodeOf(csr)
	if err != nil {
		return false, err
	}

	young := time.Since(csr.CreationTimestamp.Time) < retryUntil
	node, err := a.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return young, fmt.Errorf("get node %q: %w", nodeName, err)
	}
	if err := a.policy.Check(csr, node); err != nil {
		return young && errors.Is(err, errNotYet), err
	}

	approved := csr.DeepCopy()
	approved.Status.Conditions = append(approved.Status.Conditions, certv1.CertificateSigningRequestCondition{
		Type:    certv1.CertificateApproved,
		Status:  corev1.ConditionTrue,
		Reason:  "KubeletServing",
		Message: "The node asks for its own name and addresses.",
	})

	_, err = a.client.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, name, approved,
		metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return young, fmt.Errorf("approve request %q: %w", name, err)
	}

	return false, nil
}
