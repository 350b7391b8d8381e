package admission

import (
	"log/slog"
	"sync"
	"time"
)

// Weights is what gives the pods of a node their processor time. A pod is named by its id.
type Weights interface {
	// Lift gives a pod more than the other pods when they all want more than there is, or takes that back.
	Lift(pod string, up bool) error
	// Used is how much time of processors a pod has had.
	Used(pod string) (time.Duration, error)
}

const (
	// mostAhead is what a pod may use ahead of others when none of its programs had a turn for a while: the start of a
	// container.
	mostAhead = 2 * time.Second
	// aheadEach says how long it takes until a pod has a second of that again, in seconds. A probe every five seconds
	// gets along with it. What keeps its processors busy gets no more than that by having probes.
	aheadEach = 10
	// lookAhead is the time between two looks at what was used.
	lookAhead = 50 * time.Millisecond
)

// Lifts has pods whose programs have their turn go ahead of other pods, so that pods that are busy do not keep a probe
// from its end. It is the pod that is lifted, for a program of Windows has its wineserver do the most of it; what else
// runs in the pod runs ahead as well, and all of it is counted.
//
//	     Begin                    its allowance is used up, or all that began have ended
//	as others ──▶ ahead of others ──────────────────────────────────────────────────────▶ as others
//
// It takes no processor from a pod's host, nor more than a container's limit allows.
type Lifts struct {
	weights Weights
	log     *slog.Logger

	mu   sync.Mutex // guards what follows
	pods map[string]*lift
}

// lift is what is kept of a pod.
type lift struct {
	turns int
	up    bool
	// left is what it may use ahead of others, as of at. It is below zero when the pod has used more between two looks.
	left time.Duration
	at   time.Time
	// used is what it had used by then.
	used time.Duration
}

// NewLifts returns lifts by weights; nil: no pod is lifted.
func NewLifts(weights Weights, log *slog.Logger) *Lifts {
	return &Lifts{
		weights: weights,
		log:     log,
		pods:    map[string]*lift{},
	}
}

// Begin says that a program of a pod has its turn. The caller calls end when the turn is over; it may do so more than
// once.
func (l *Lifts) Begin(pod string) (end func()) {
	if l.weights == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()

	p := l.pods[pod]
	if p == nil {
		p = &lift{left: mostAhead, at: time.Now()}
		l.pods[pod] = p
	}
	p.turns++
	l.look(pod, p)
	over := make(chan struct{})
	go l.watch(pod, p, over)

	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(over)
		p.turns--
		if !l.look(pod, p) && p.turns == 0 && l.pods[pod] == p {
			delete(l.pods, pod) // it went meanwhile
		}
	})
}

// watch takes the lift back when the allowance is used up.
func (l *Lifts) watch(pod string, p *lift, over <-chan struct{}) {
	tick := time.NewTicker(lookAhead)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		l.mu.Lock()
		l.look(pod, p)
		l.mu.Unlock()
	}
}

// look counts what a pod has used, and lifts it or takes that back. It reports whether there is something to count: a
// pod whose first container is not made yet has nothing, and one that has ended nothing any more. The caller holds the
// lock.
func (l *Lifts) look(pod string, p *lift) (there bool) {
	used, err := l.weights.Used(pod)
	if err != nil {
		l.log.Debug("processor time of pod not read", "sandbox", pod, "error", err)
		return false
	}

	now := time.Now()
	p.left = min(p.left+now.Sub(p.at)/aheadEach, mostAhead)
	if p.up {
		p.left -= used - p.used
	}
	p.used, p.at = used, now

	up := p.turns > 0 && p.left > 0
	if up == p.up {
		return true
	}
	if err := l.weights.Lift(pod, up); err != nil {
		l.log.Debug("pod not weighed", "sandbox", pod, "up", up, "error", err)
		return true
	}
	p.up = up
	return true
}

// Recover takes from a pod what an earlier process gave it.
func (l *Lifts) Recover(pod string) {
	if l.weights == nil {
		return
	}
	if err := l.weights.Lift(pod, false); err != nil {
		l.log.Debug("pod not weighed", "sandbox", pod, "error", err)
	}
}

// Forget forgets a pod that is gone.
func (l *Lifts) Forget(pod string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pods, pod)
}
