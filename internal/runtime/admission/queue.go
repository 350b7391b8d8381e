// Package admission owns the order in which a node starts programs: as many at once as its processors can carry, the
// rest one after the other. A program that starts costs the most under Wine, and one that comes up after its time has
// cost as much as one in time; thrown at a busy machine together, none is in time. The package does not know what is
// started.
//
//	        a place is free, and its turn
//	waits ────────────────────────────────▶ starts ──▶ (Leave)
//	  │ its context ends
//	  └──────────────────▶ (never started)
//
// A place is for a start, not for a life: who holds one gives it back when the program runs, and after HoldMost at the
// latest. So nothing that holds a place waits for another's.
package admission

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Kind is why a program starts. Of those that wait, the lower kind goes first.
type Kind int

// The kinds.
const (
	// Person is what a person runs in a container. It has one place more than the others.
	Person Kind = iota
	// Proven is a probe of a container in which one has succeeded. The container that was proven first goes first.
	Proven
	// Probe is another program that the kubelet runs in a container: its first probes, and hooks.
	Probe
	// Start is that of a pod or a container.
	Start

	kinds = int(Start) + 1
)

// String returns the kind's name in figures.
func (k Kind) String() string { return [kinds]string{"person", "proven", "probe", "start"}[k] }

// Pod is whose program it is.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// Ask is a program that wants to start.
type Ask struct {
	Kind Kind
	Pod  Pod
	// Container is the id of the container that it is to run in, "" for a pod's start.
	Container string
}

const (
	// HoldMost is how long a place is held. What needs more than that to start waits for something else than a
	// processor.
	HoldMost = 10 * time.Second
	// turnOfProbe and turnOfStart are how often a kind that waits is passed over before it has its turn.
	turnOfProbe, turnOfStart = 8, 4
	// seniors is for how many containers each place is that do not wait behind those that came later.
	seniors = 2
	// lateMost is how often in a row a proven container's probe may be late before the container has to prove itself
	// again: its program is slower than its probe allows.
	lateMost = 3
)

// Queue gives places. The zero value gives none; make one with New.
type Queue struct {
	places int
	now    func() time.Time

	mu      sync.Mutex // guards what follows
	held    [kinds]int
	waiting [kinds][]*waiter
	passed  [kinds]int
	proven  map[string]*proof
	missed  map[string]int // by container: how often its programs were not started
	pods    map[Pod]*podWait
	took    []took        // the last starts, from the place to the end
	typical time.Duration // their median
	aside   aside
	figures Load
}

// proof is that a probe has succeeded in a container.
type proof struct {
	since time.Time
	late  int
}

// waiter is who waits for a place.
type waiter struct {
	ask      Ask
	since    time.Time
	deadline time.Time // zero: none
	admitted chan *Place
}

// New returns a queue with that many places, two at least: one is not for starts of pods and containers.
func New(places int) *Queue {
	const least = 2
	return &Queue{
		places: max(places, least),
		now:    time.Now,
		proven: map[string]*proof{},
		missed: map[string]int{},
		pods:   map[Pod]*podWait{},
		aside:  aside{jammed: map[Pod]time.Time{}},
	}
}

// Places returns how many of a machine's processors' places one of its nodes gets: the processors carry half as many
// starts again as there are of them, and each node can carry two.
func Places(processors, nodes int) int {
	const least = 2
	return max(least, 3*processors/(2*max(nodes, 1)))
}

// Enter waits for a place. If ctx ends before, the error is a NotStartedError, and nothing may be started.
func (q *Queue) Enter(ctx context.Context, a Ask) (*Place, error) {
	w := &waiter{
		ask:      a,
		since:    q.now(),
		admitted: make(chan *Place, 1),
	}

	w.deadline, _ = ctx.Deadline()
	if ctx.Err() == nil {
		q.mu.Lock()
		line := q.lineOf(a)
		*line = append(*line, w)
		q.admit()
		q.mu.Unlock()
	}

	select {
	case p := <-w.admitted:
		return p, nil
	default:
	}

	select {
	case p := <-w.admitted:
		return p, nil
	case <-ctx.Done():
	}

	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case p := <-w.admitted: // both at once: the place goes to the next
		q.giveBack(p)
	default:
		q.remove(w)
	}

	return nil, q.notStarted(w, ctx.Err())
}

// admit gives places to those whose turn it is. The caller holds the lock.
func (q *Queue) admit() {
	for {
		q.admitAside(jamMost)
		w := q.next()
		if w == nil {
			if q.others() == 0 {
				q.admitAside(jamPause)
			}
			return
		}

		q.remove(w)
		for k := range kinds {
			switch {
			case Kind(k) == w.ask.Kind:
				q.passed[k] = 0
			case len(q.waiting[k]) > 0 && w.ask.Kind != Person:
				q.passed[k]++
			}
		}

		q.held[w.ask.Kind]++
		q.give(w, HoldMost)
	}
}

// give gives a waiter its place, for so long at most.
func (q *Queue) give(w *waiter, most time.Duration) *Place {
	now := q.now()
	p := &Place{
		queue: q,
		ask:   w.ask,
		since: now,
		left:  make(chan struct{}),
	}
	p.limit = time.AfterFunc(most, p.GiveUp)
	q.count(w, now)
	w.admitted <- p
	return p
}

// admitAside gives a place to a program of a jammed pod, if the last one was over that long ago.
func (q *Queue) admitAside(after time.Duration) {
	w := q.nextAside(after)
	if w == nil {
		return
	}
	q.remove(w)
	q.aside.held = q.give(w, jamAfter)
}

// others returns how many waiters do not wait aside.
func (q *Queue) others() (n int) {
	for _, line := range q.waiting {
		n += len(line)
	}
	return n
}

// free returns how many places nobody has.
func (q *Queue) free() int {
	all := 0
	if q.aside.held != nil {
		all++
	}
	for _, n := range q.held {
		all += n
	}
	return q.places - all
}

// next returns who gets the next place, nil if nobody does now.
func (q *Queue) next() *waiter {
	free := q.free()
	if people := q.waiting[Person]; len(people) > 0 && free > -1 {
		return people[0]
	}
	start, probe := q.newcomers()
	due := q.due(start, probe)
	if senior := q.senior(); senior != nil && free > -1 && due == nil {
		return senior
	}

	switch {
	case free <= 0:
		return nil
	case due != nil:
		return due
	}

	for _, w := range []*waiter{q.inTime(Proven), probe, start} {
		if w != nil {
			return w
		}
	}

	return q.chance(probe == nil && start == nil && q.roomForNewcomers())
}

// due returns the one of two newcomers, nil where there is none, that was passed over so often that it has its turn.
func (q *Queue) due(start, probe *waiter) *waiter {
	switch {
	case start != nil && q.passed[Start] >= turnOfStart:
		return start
	case probe != nil && q.passed[Probe] >= turnOfProbe:
		return probe
	}
	return nil
}

// senior returns a waiter of one of the containers that were proven before all others: it has the place that a person
// has, so that it is kept waiting by nobody that came later.
func (q *Queue) senior() *waiter {
	var first *waiter
	for _, w := range q.waiting[Proven] {
		if first == nil || q.before(w, first) {
			first = w
		}
	}
	if first == nil || q.proven[first.ask.Container] == nil {
		return nil
	}

	older := 0
	for _, p := range q.proven {
		if p.since.Before(q.proven[first.ask.Container].since) {
			older++
		}
	}

	if older >= seniors*q.places {
		return nil
	}
	return first
}

// newcomers returns the first start and the first other program that may begin now, nil where there is none.
func (q *Queue) newcomers() (start, probe *waiter) {
	if !q.roomForNewcomers() {
		return nil, nil
	}
	if starts := q.waiting[Start]; len(starts) > 0 && q.held[Start] < q.places-1 {
		start = starts[0]
	}
	return start, q.inTime(Probe)
}

// roomForNewcomers reports whether what is not proven may have a place: one is left to those that are, for their probes
// must not fail because others begin.
func (q *Queue) roomForNewcomers() bool {
	return len(q.proven) == 0 || q.held[Probe]+q.held[Start] < q.places-1
}

// inTime returns the first of a kind that may be done in its time, as others were: who would be late costs as much, and
// takes the place of one that would not. What is proven has half of that time as well: it is not given up for a
// newcomer.
func (q *Queue) inTime(k Kind) *waiter {
	now, least := q.now(), q.typical
	if k == Proven {
		least /= 2
	}

	var first *waiter
	for _, w := range q.waiting[k] {
		if !w.deadline.IsZero() && w.deadline.Sub(now) < least {
			continue
		}
		if first == nil || q.before(w, first) {
			first = w
		}
	}

	return first
}

// before reports whether one of two of the same kind goes first: of proven containers the one that was proven first,
// of others the one that was kept waiting in vain most often. Otherwise, who came first does.
func (q *Queue) before(a, b *waiter) bool {
	if a.ask.Kind == Proven {
		x, y := q.proven[a.ask.Container], q.proven[b.ask.Container]
		if x != nil && y != nil {
			return x.since.Before(y.since)
		}
		return x != nil && y == nil
	}
	return q.missed[a.ask.Container] > q.missed[b.ask.Container]
}

// chance returns the one with the most time left, where nobody has as much as others needed: the next may need less.
// What is proven goes before newcomers.
func (q *Queue) chance(newcomers bool) *waiter {
	for _, k := range []Kind{Proven, Probe} {
		var most *waiter
		for _, w := range q.waiting[k] {
			if most == nil || w.deadline.After(most.deadline) {
				most = w
			}
		}
		if most != nil && (k == Proven || newcomers) {
			return most
		}
	}
	return nil
}

// remove takes a waiter out of the queue. It may wait aside though its pod is jammed no more.
func (q *Queue) remove(w *waiter) {
	for _, line := range []*[]*waiter{&q.waiting[w.ask.Kind], &q.aside.waiting} {
		*line = slices.DeleteFunc(*line, func(other *waiter) bool { return other == w })
	}
}

// Place is the right to start a program.
type Place struct {
	queue *Queue
	ask   Ask
	since time.Time
	limit *time.Timer
	once  sync.Once
	left  chan struct{}
}

// Left is closed when the place is given back.
func (p *Place) Left() <-chan struct{} { return p.left }

// Leave gives the place to the next: the program has come up, or is over. It may be called more than once. After GiveUp
// it says that the program has come up all the same.
func (p *Place) Leave() {
	p.end(func(q *Queue, held time.Duration) {
		if p.ask.Kind != Start {
			q.learn(p.ask.Pod, held)
		}
	})
	if p.ask.Kind == Start {
		return
	}
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	p.queue.up(p.ask.Pod)
	p.queue.admit()
}

// GiveUp gives the place to the next as Leave does, of a program that has not come up.
func (p *Place) GiveUp() {
	p.end(func(q *Queue, held time.Duration) { q.notUp(p, held) })
}

// giveBack gives a place back that was not used. The caller holds the lock.
func (q *Queue) giveBack(p *Place) {
	p.once.Do(func() { q.release(p) })
}

// end gives a place back once, after the queue has learned from it.
func (p *Place) end(learn func(*Queue, time.Duration)) {
	p.once.Do(func() {
		q := p.queue
		q.mu.Lock()
		defer q.mu.Unlock()
		learn(q, q.now().Sub(p.since))
		q.release(p)
	})
}

func (q *Queue) release(p *Place) {
	close(p.left)
	p.limit.Stop()
	if q.aside.held == p {
		q.aside.held, q.aside.last = nil, q.now()
	} else {
		q.held[p.ask.Kind]--
	}
	q.admit()
}

// took is how long the last program of a pod took to start.
type took struct {
	pod  Pod
	time time.Duration
}

// tookMost is of how many pods the queue knows that.
const tookMost = 15

// learn has the typical time of an exec be the median of what the last ones took. Of a pod the last one counts, so that
// a pod whose programs come up late, as often as they may, does not make that typical.
func (q *Queue) learn(pod Pod, time time.Duration) {
	if pod != (Pod{}) {
		q.took = slices.DeleteFunc(q.took, func(t took) bool { return t.pod == pod })
	}
	q.took = append(q.took, took{pod, time})
	q.took = q.took[max(0, len(q.took)-tookMost):]

	sorted := slices.SortedFunc(slices.Values(q.took), func(a, b took) int { return cmp.Compare(a.time, b.time) })
	q.typical = sorted[(len(sorted)-1)/2].time
}

// KindOf returns the kind of what the kubelet runs in a container.
func (q *Queue) KindOf(container string) Kind {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.proven[container] != nil {
		return Proven
	}
	return Probe
}

// Succeeded says that a probe has succeeded in a container.
func (q *Queue) Succeeded(container string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.missed, container)
	if p := q.proven[container]; p != nil {
		p.late = 0
		return
	}
	q.proven[container] = &proof{since: q.now()}
}

// Late says that a program was started in a container, and not done in its time.
func (q *Queue) Late(container string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.figures.Late++
	p := q.proven[container]
	if p == nil {
		return
	}
	if p.late++; p.late >= lateMost {
		delete(q.proven, container)
	}
}

// Ended says that processes of a program in a container were found and ended after its time.
func (q *Queue) Ended(processes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.figures.Orphans += uint64(max(processes, 0))
}

// Forget forgets a container that is gone.
func (q *Queue) Forget(container string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.proven, container)
	delete(q.missed, container)
}
