package enforcer

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// ReasonNotCarriedOut is the reason of the events about policies in a cluster that does not carry them out.
const ReasonNotCarriedOut = "NotCarriedOut"

// Notice is the component of a cluster that does not carry policies out: each policy gets an event that says so.
type Notice struct {
	Client func() (kubeclient.Interface, error)
	// Why is the text of the events.
	Why string

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Start begins to watch.
func (n *Notice) Start(ctx context.Context) error {
	client, err := n.Client()
	if err != nil {
		return err
	}

	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n.cancel = cancel
	say := func(obj any) {
		p, ok := obj.(*networkingv1.NetworkPolicy)
		if !ok {
			return
		}

		_ = wait.ExponentialBackoffWithContext(run, patience(), func(ctx context.Context) (bool, error) {
			return kubeclient.Record(ctx, client, p, kubeclient.Event{
				Component: "mullion",
				Type:      corev1.EventTypeWarning,
				Reason:    ReasonNotCarriedOut,
				Message:   n.Why,
			}) == nil, nil
		}) // an API that takes no events for so long has other troubles
	}

	policies := client.NetworkingV1().NetworkPolicies("").Informer(0)
	_, err = policies.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: say,
		UpdateFunc: func(before, now any) {
			b, _ := before.(*networkingv1.NetworkPolicy)
			if p, ok := now.(*networkingv1.NetworkPolicy); ok && b != nil && b.Generation != p.Generation {
				say(p)
			}
		},
	})
	if err != nil {
		cancel()
		return err
	}

	n.done.Go(func() { policies.RunWithContext(run) })
	return nil
}

// Stop ends the watch.
func (n *Notice) Stop(context.Context) error {
	if n.cancel != nil {
		n.cancel()
		n.done.Wait()
	}
	return nil
}

// patience returns how often an event is tried, within half a minute.
func patience() wait.Backoff {
	return wait.Backoff{
		Duration: 500 * time.Millisecond,
		Factor:   2,
		Steps:    7,
	}
}
