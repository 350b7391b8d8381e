package cri

import (
	"context"
	"errors"
	"fmt"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/admission"
	"mullion.dev/mullion/internal/runtime/cri/store"
)

// Load returns how busy the node is with starting programs.
func (s *Server) Load() admission.Load { return s.queue.Load() }

// waitingPod returns the pod of a container whose program waits for its turn.
func (s *Server) waitingPod(c store.Container) admission.Pod {
	sb, err := s.sandboxes.Get(c.SandboxID)
	if err != nil {
		return admission.Pod{}
	}
	meta := sb.Config.GetMetadata()
	return admission.Pod{
		Namespace: meta.GetNamespace(),
		Name:      meta.GetName(),
		UID:       meta.GetUid(),
	}
}

// enter waits for the turn of a program in a container. While it has its place, its pod goes ahead of others: the
// sooner it is done, the sooner the next has its turn.
func (s *Server) enter(ctx context.Context, kind admission.Kind, c store.Container) (*admission.Place, error) {
	place, err := s.queue.Enter(ctx, admission.Ask{
		Kind:      kind,
		Pod:       s.waitingPod(c),
		Container: c.ID,
	})
	if err != nil {
		return nil, err
	}

	end := s.lifts.Begin(c.SandboxID)
	go func() {
		<-place.Left()
		end()
	}()

	return place, nil
}

const (
	// lookForStart is the time between two looks whether a program runs.
	lookForStart = 100 * time.Millisecond
	// afterStart is what a program needs to load, after Windows has made its process; most probes are done by then.
	afterStart = time.Second
)

// leaveWhenStarted gives a place to the next when the program whose report is in file is over, or has been running for
// a moment: one that waits for something may depend on what waits for a place. It returns the engine's Over; the file
// is there when that is called, unless the program's time was over.
func (s *Server) leaveWhenStarted(place *admission.Place, file string) func(ended int) {
	over := make(chan bool, 1) // whether it has come up
	go func() {
		tick, most := time.NewTicker(lookForStart), time.NewTimer(admission.HoldMost)
		defer tick.Stop()
		defer most.Stop()

		for !cameUp(file) {
			select {
			case up := <-over:
				if up {
					place.Leave()
				} else {
					place.GiveUp()
				}
				return

			case <-most.C:
				place.GiveUp()
				return
			case <-tick.C:
			}
		}

		select {
		case <-over:
		case <-time.After(afterStart):
		}

		place.Leave()
	}()

	return func(ended int) {
		over <- cameUp(file)
		if ended > 0 {
			s.queue.Ended(ended)
		}
	}
}

// cameUp reports whether the report in file says what has become of its program: Windows in the container has answered.
func cameUp(file string) bool {
	r, err := readReport(file)
	return err == nil && (r.started || r.exited || r.failed)
}

// judge learns from a program that the kubelet ran in a container. Only a probe has a time.
func (s *Server) judge(c store.Container, req *runtimeapi.ExecSyncRequest, code uint32, err error) {
	var notStarted *admission.NotStartedError
	switch {
	case req.GetTimeout() <= 0 || errors.As(err, &notStarted):
	case errors.Is(err, context.DeadlineExceeded):
		s.queue.Late(c.ID)
	case err == nil && code == 0:
		s.queue.Succeeded(c.ID)
	}
}

// ReasonWaits is the reason of the events of pods whose programs wait for a processor.
const ReasonWaits = "WaitsForProcessor"

const (
	// lookForWaits is the time between two looks who waits, tellAgain that between two events of a pod.
	lookForWaits = 5 * time.Second
	tellAgain    = time.Minute
)

// tellWaits tells of the pods that wait for a processor, until ctx ends.
func (s *Server) tellWaits(ctx context.Context) {
	tick := time.NewTicker(lookForWaits)
	defer tick.Stop()

	told := map[admission.Pod]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}

		if s.cfg.Tell == nil {
			continue
		}
		load := s.queue.Load()
		for pod, at := range told {
			if time.Since(at) >= tellAgain {
				delete(told, pod)
			}
		}

		for _, p := range load.Pods {
			if _, ok := told[p.Pod]; ok {
				continue
			}
			told[p.Pod] = time.Now()
			s.cfg.Tell(Notice{
				Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Reason: ReasonWaits,
				Message: waitsText(p, load),
			})
		}
	}
}

// waitsText says with figures what a pod waits for.
func waitsText(p admission.PodLoad, l admission.Load) string {
	others := 0
	for _, n := range l.Waiting {
		others += n
	}

	node := fmt.Sprintf("the node starts %d programs at a time, one in a container takes it %s, and %d wait", l.Places,
		l.Typical.Round(time.Millisecond), others)
	if p.StartWaits > 0 {
		return fmt.Sprintf("Its start has waited %s for a processor: %s", p.StartWaits.Round(time.Second), node)
	}

	if p.Jammed {
		return fmt.Sprintf("Programs that the kubelet runs in it (probes, hooks) do not come up, while those of other pods "+
			"do: %d of %d were not started, since this pod's have a turn after all others until one comes up. If what the "+
			"pod runs has stopped Windows' services in it, a new pod helps", p.NotStarted, p.Asked)
	}

	return fmt.Sprintf("%d of %d programs that the kubelet was to run in it (probes, hooks) were not started in their "+
		"time for want of a processor, and count as timed out: %s. Fewer pods, a longer timeoutSeconds or periodSeconds, "+
		"or probes without programs (httpGet, tcpSocket) help", p.NotStarted, p.Asked, node)
}
