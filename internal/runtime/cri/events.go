package cri

import (
	"fmt"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// GetContainerEvents streams the events of pods and containers to an evented kubelet.
func (s *Server) GetContainerEvents(_ *runtimeapi.GetEventsRequest,
	out runtimeapi.RuntimeService_GetContainerEventsServer,
) error {
	events, leave := s.events.join()
	defer leave()

	for {
		select {
		case e, ok := <-events:
			if !ok {
				return fmt.Errorf("stream events: the listener is too slow or the server ends: %w",
					errdefs.ErrUnavailable)
			}
			if err := out.Send(e); err != nil {
				return err
			}

		case <-out.Context().Done():
			return nil
		}
	}
}

// emit tells listeners what happened to a container; for a pod itself, id is the sandbox's, as in containerd's CRI.
func (s *Server) emit(id, sandbox string, kind runtimeapi.ContainerEventType) {
	e := &runtimeapi.ContainerEventResponse{
		ContainerId:        id,
		ContainerEventType: kind,
		CreatedAt:          time.Now().UnixNano(),
	}
	if sb, err := s.sandboxes.Get(sandbox); err == nil {
		e.PodSandboxStatus = sandboxStatus(sb)
	}
	for _, c := range s.containersOf(sandbox) {
		e.ContainersStatuses = append(e.ContainersStatuses, containerStatus(c))
	}
	s.events.send(e)
}

// broadcaster passes events to any number of listeners. A listener that does not keep up is dropped; it is expected to
// reconnect and list everything.
type broadcaster struct {
	mu        sync.Mutex
	listeners map[chan *runtimeapi.ContainerEventResponse]bool
}

// eventBuffer is how far a listener may fall behind.
const eventBuffer = 1000

func (b *broadcaster) join() (events <-chan *runtimeapi.ContainerEventResponse, leave func()) {
	c := make(chan *runtimeapi.ContainerEventResponse, eventBuffer)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners == nil {
		b.listeners = map[chan *runtimeapi.ContainerEventResponse]bool{}
	}
	b.listeners[c] = true
	return c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, c)
	}
}

func (b *broadcaster) send(e *runtimeapi.ContainerEventResponse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners {
		select {
		case c <- e:
		default:
			delete(b.listeners, c)
			close(c)
		}
	}
}

func (b *broadcaster) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners {
		delete(b.listeners, c)
		close(c)
	}
}
