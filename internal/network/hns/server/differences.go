package server

import "context"

// Differences says how the kernel differs from what HNS means to have there, without putting it right. What waits to be
// carried out is carried out first.
func (s *Service) Differences(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	if !s.behind {
		s.flush(ctx)
	}
	plan := s.model.Plan()
	s.kernel.Lock()
	s.mu.Unlock()
	defer s.kernel.Unlock()
	return s.cfg.DataPlane.Differences(ctx, plan)
}
