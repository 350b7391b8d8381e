package proc

import "time"

// usage is the processor time used since some beginning, by a child and on all processors of the machine.
type usage struct {
	child time.Duration // of the child, and of those of its children that have ended
	idle  time.Duration // idle time of all processors together
	total time.Duration // of all processors together
}

// patience measures how long a starting child has stood still: the time in which it did next to nothing although the
// machine had processor time to spare. So a start on a slow or busy machine may take long, and a start that stands
// still is noticed.
type patience struct {
	limit time.Duration // of the time that counts
	last  time.Duration // since the start, at the last look
	used  usage         // at the last look
	idled time.Duration // the time that counts
}

// A child works if it uses a tenth of a processor; a machine has time to spare if its processors idle for a tenth of
// the time.
const share = 10

// lookInterval returns the time between two looks. Linux counts processor time in hundredths of a second.
func (p *patience) lookInterval() time.Duration { return min(p.limit/10, time.Second) }

// look records the usage at a time since the start, and counts the time since the last look if the child stood still.
func (p *patience) look(since time.Duration, now usage) {
	elapsed := since - p.last
	child := now.child - p.used.child
	idle := now.idle - p.used.idle
	total := now.total - p.used.total
	p.last, p.used = since, now
	if child*share < elapsed && (total == 0 || idle*share >= total) {
		p.idled += elapsed
	}
}

// over reports whether the child has stood still for too long.
func (p *patience) over() bool { return p.idled >= p.limit }
