package hcs

import "mullion.dev/mullion/internal/runtime/engine"

// boundUnread ends compute systems in whose sockets too much waits that no program reads: Linux counts it for no
// container, as for those of pods.
func (s *Service) boundUnread() {
	engine.LookForUnread(s.life, s.boundOnce)
}

func (s *Service) boundOnce() {
	for _, c := range s.withContainers() {
		if s.life.Err() != nil {
			return
		}
		got, err := s.cfg.Engine.UnreadOf(s.life, c.engine, engine.MostUnread)
		if err != nil {
			s.cfg.Log.Debug("sockets of a compute system not looked at", "id", c.id, "error", err) // it ends
			continue
		}

		if got > engine.MostUnread {
			s.cfg.Log.Warn("compute system ended: its sockets hold more answers than a container may leave unread",
				"id", c.id, "bytes", got)
			c.end(0, false)
		}
	}
}

// withContainers returns the compute systems that the engine has a container of, and that do not end.
func (s *Service) withContainers() (all []*computeSystem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.systems {
		c.mu.Lock()
		if c.made && !c.gone && c.state == Running {
			all = append(all, c)
		}
		c.mu.Unlock()
	}
	return all
}
