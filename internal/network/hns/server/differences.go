package server

import "context"

// Differences returns how the kernel differs from HNS' plan, and repairs nothing. It first carries out the changes that
// wait.
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
