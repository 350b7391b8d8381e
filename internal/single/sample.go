package single

import (
	"context"

	"golang.org/x/sys/unix"
)

// sample asks what containers use: those named, which have to run, or all that do.
func (s *service) sample(ctx context.Context, names []string) ([]Sample, error) {
	var samples []Sample
	for _, one := range s.register.running() {
		if len(names) > 0 {
			break
		}
		// One that ends meanwhile is none of them.
		if got, err := one.sample(ctx); err == nil {
			samples = append(samples, got)
		}
	}

	for _, name := range names {
		known, k, err := s.register.find(name)
		if err != nil {
			return nil, err
		}

		got := Sample{ID: known.ID, Name: known.Name} // of one that has ended there is nothing
		if k != nil && k.runs() {
			if got, err = k.sample(ctx); err != nil && !closed(k.ended) {
				return nil, err
			}
			got.Name = known.Name
		}
		samples = append(samples, got)
	}

	return samples, nil
}

// running returns the containers whose program runs, the newest first.
func (r *register) running() (all []*container) {
	for _, c := range r.list() {
		r.mu.Lock()
		k := r.live[c.ID]
		r.mu.Unlock()
		if k != nil && k.runs() && c.State() == Running {
			all = append(all, k)
		}
	}
	return all
}

// sample asks what the container uses.
func (k *container) sample(ctx context.Context) (Sample, error) {
	known, _ := k.service.register.get(k.id)
	s := Sample{
		ID:    k.id,
		Name:  known.Name,
		Limit: uint64(k.ask.Memory),
	}

	u, err := k.engine.Usage(ctx, k.id)
	if err != nil {
		return s, err
	}

	s.At, s.CPU = u.At, u.CPU
	s.Memory, s.Processes = u.WorkingSet, u.Processes
	s.Read, s.Written = u.Reads.Bytes, u.Writes.Bytes
	if s.Limit == 0 {
		var machine unix.Sysinfo_t
		if err := unix.Sysinfo(&machine); err == nil {
			s.Limit = machine.Totalram * uint64(machine.Unit)
		}
	}

	s.Received, s.Sent, err = k.network.Carried()
	return s, err
}
