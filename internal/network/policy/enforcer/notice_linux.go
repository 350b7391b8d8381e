package enforcer

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

// ReasonNotCarriedOut is the reason of the events about policies in a cluster that does not carry them out.
const ReasonNotCarriedOut = "NotCarriedOut"

// Notice is the component of a cluster that does not carry policies out: each policy gets an event that says so.
type Notice struct {
	Client func() (kubernetes.Interface, error)
	// Why is the text of the events.
	Why string

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Name is the component's name.
func (*Notice) Name() string { return Unit }

// Start begins to watch.
func (n *Notice) Start(ctx context.Context) error {
	client, err := n.Client()
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n.cancel = cancel
	events := record.NewBroadcaster(record.WithContext(run))
	events.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: client.CoreV1().Events("")})
	recorder := events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "mullion"})
	factory := informers.NewSharedInformerFactory(client, 0)
	say := func(obj any) {
		if p, ok := obj.(*networkingv1.NetworkPolicy); ok {
			recorder.Event(p, corev1.EventTypeWarning, ReasonNotCarriedOut, n.Why)
		}
	}
	_, err = factory.Networking().V1().NetworkPolicies().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
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
	factory.Start(run.Done())
	n.done.Go(func() {
		<-run.Done()
		factory.Shutdown()
		events.Shutdown()
	})
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
