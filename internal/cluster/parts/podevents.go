package parts

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/node/agent/admin"
	"mullion.dev/mullion/internal/process/component"
)

// PodEvents is the component that makes events of what a Windows node's agent tells of its pods. The agent talks to no
// API server.
type PodEvents struct {
	Node string
	// Socket is the agent's.
	Socket string
	Client func() (kubeclient.Interface, error)

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// ID implements component.Component.
func (p *PodEvents) ID() component.ID { return component.OfNode("pod-events", p.Node) }

// noticePause is how long an agent that is away is left alone.
const noticePause = time.Second

// Start begins to listen, and listens again when the agent was away.
func (p *PodEvents) Start(ctx context.Context) error {
	client, err := p.Client()
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	agent := admin.NewClient(p.Socket)
	p.done.Go(func() {
		wait.UntilWithContext(run, func(ctx context.Context) {
			_ = agent.Notices(ctx, func(n admin.Notice) { record(ctx, client, n) }) // it is away
		}, noticePause)
	})
	return nil
}

// Stop ends the listening.
func (p *PodEvents) Stop(context.Context) error {
	if p.cancel != nil {
		p.cancel()
	}
	p.done.Wait()
	return nil
}

// recordAgain says how often, and how long apart, an event is tried: an API server that is started again is away for
// some seconds.
func recordAgain() wait.Backoff {
	return wait.Backoff{
		Duration: time.Second,
		Factor:   2,
		Steps:    5,
	}
}

// record makes an event of a notice. An API that takes none for so long has other troubles; the agent's log has it too.
func record(ctx context.Context, client kubeclient.Interface, n admin.Notice) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: n.Namespace,
		Name:      n.Pod,
		UID:       types.UID(n.UID),
	}}
	_ = wait.ExponentialBackoffWithContext(ctx, recordAgain(), func(ctx context.Context) (bool, error) {
		return kubeclient.Record(ctx, client, pod, kubeclient.Event{
			Component: "mullion",
			Type:      corev1.EventTypeWarning,
			Reason:    n.Reason,
			Message:   n.Message,
		}) == nil, nil
	})
}
