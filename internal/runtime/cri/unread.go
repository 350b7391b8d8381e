package cri

import (
	"context"
	"fmt"
	"sync"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
)

// What waits in a pod's sockets of netlink and of ping is memory of the kernel's that no cgroup counts. So it is looked
// at, and the containers of a pod that has too much of it end as those that are out of memory.

// ReasonUnread is the reason of the event of a pod whose containers were killed for what their sockets hold.
const ReasonUnread = "UnreadAnswers"

// boundUnread holds the node's pods to what may wait in their sockets, until ctx ends.
func (s *Server) boundUnread(ctx context.Context) {
	killing := &underWay{ids: map[string]bool{}}
	engine.LookForUnread(ctx, func() {
		for _, sb := range s.readySandboxes() {
			if ctx.Err() != nil {
				return
			}
			netns := s.kindOf(sb.ID).sockets(sb)
			if netns == "" {
				continue
			}

			got, err := s.cfg.Engine.Unread(netns, engine.MostUnread)
			if err != nil {
				s.log.Debug("sockets of a pod not looked at", "pod", sb.ID, "error", err) // it goes, most often
				continue
			}
			if got > engine.MostUnread {
				s.endUnread(ctx, sb, killing)
			}
		}
	})
}

// endUnread kills the containers of a pod in the background, and says why.
func (s *Server) endUnread(ctx context.Context, sb store.Sandbox, killing *underWay) {
	for _, c := range s.containersOf(sb.ID) {
		if c.State() != runtimeapi.ContainerState_CONTAINER_RUNNING || !killing.begin(c.ID) {
			continue
		}

		s.samples.sawOutOfMemory(c.ID)
		s.watchers.Go(func() {
			defer killing.end(c.ID)
			if err := s.stopContainer(ctx, c, 0); err != nil && ctx.Err() == nil {
				s.log.Warn("container with too much in its sockets not ended", "container", c.ID, "error", err)
				return
			}
			s.tell(c, ReasonUnread, fmt.Sprintf("Container %s was ended: sockets of netlink or of ping of its pod held "+
				"more than %d MiB of answers that no program read, memory that Linux counts for no container",
				c.Config.GetMetadata().GetName(), engine.MostUnread>>20))
		})
	}
}

// underWay are the containers that are being killed.
type underWay struct {
	mu  sync.Mutex
	ids map[string]bool
}

// begin reports whether nobody has begun with a container.
func (u *underWay) begin(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ids[id] {
		return false
	}
	u.ids[id] = true
	return true
}

func (u *underWay) end(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.ids, id)
}
