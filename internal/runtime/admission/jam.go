package admission

import (
	"maps"
	"slices"
	"time"
)

// A pod can keep programs from coming up in its own containers: by stopping its Wine server, for one, or by answering
// in its place. Each of them would hold a place for HoldMost, and the node's other pods would wait. So a pod is jammed
// whose program had a place for long, did not come up, and took much longer than others': until one of its programs
// comes up again, they wait aside.

const (
	// jamAfter is how long a program has a place at least that jams its pod, and how long one of a jammed pod has it.
	jamAfter = 3 * time.Second
	// jamTimes is how many times as long as others took.
	jamTimes = 4
	// jamPause is the time between two programs of jammed pods, and jamMost the longest that they are put off while
	// others wait.
	jamPause = 10 * time.Second
	jamMost  = 30 * time.Second
	// jamForget is when a jammed pod of which nothing was asked is forgotten.
	jamForget = 10 * time.Minute
)

// aside are the programs of jammed pods.
type aside struct {
	jammed  map[Pod]time.Time // when one of its programs was last asked for
	waiting []*waiter
	held    *Place    // one at a time
	last    time.Time // when one was over
	again   *time.Timer
}

// lineOf returns where a program waits. The caller holds the lock.
func (q *Queue) lineOf(a Ask) *[]*waiter {
	if a.Kind == Start || !q.isJammed(a.Pod) {
		return &q.waiting[a.Kind]
	}
	q.aside.jammed[a.Pod] = q.now()
	return &q.aside.waiting
}

func (q *Queue) isJammed(p Pod) bool {
	_, is := q.aside.jammed[p]
	return is
}

// notUp learns that a program did not come up while it had its place. The caller holds the lock.
func (q *Queue) notUp(p *Place, held time.Duration) {
	slow := q.typical == 0 || held < jamTimes*q.typical
	if p.ask.Pod == (Pod{}) || p.ask.Kind == Start || held < jamAfter || slow {
		return
	}
	if q.isJammed(p.ask.Pod) {
		return
	}

	maps.DeleteFunc(q.aside.jammed, func(_ Pod, asked time.Time) bool { return q.now().Sub(asked) > jamForget })
	q.figures.Jammed++
	q.aside.jammed[p.ask.Pod] = q.now()
	q.aside.last = q.now()
	for k := range kinds {
		if Kind(k) == Start {
			continue
		}

		stays := q.waiting[k][:0:0]
		for _, w := range q.waiting[k] {
			if w.ask.Pod == p.ask.Pod {
				q.aside.waiting = append(q.aside.waiting, w)
			} else {
				stays = append(stays, w)
			}
		}

		q.waiting[k] = stays
	}
}

// up learns that a program of a pod came up. The caller holds the lock.
func (q *Queue) up(pod Pod) {
	if !q.isJammed(pod) {
		return
	}
	delete(q.aside.jammed, pod)
	var stays []*waiter
	for _, w := range q.aside.waiting {
		if w.ask.Pod == pod {
			q.waiting[w.ask.Kind] = append(q.waiting[w.ask.Kind], w)
		} else {
			stays = append(stays, w)
		}
	}
	q.aside.waiting = stays
}

// nextAside returns the program of a jammed pod that has its turn when the last one was over that long ago, nil if
// there is none: a person's first, then who came first. If it is a matter of time alone, the queue looks again then.
func (q *Queue) nextAside(after time.Duration) *waiter {
	if len(q.aside.waiting) == 0 || q.aside.held != nil || q.free() <= 0 {
		return nil
	}
	if wait := after - q.now().Sub(q.aside.last); wait > 0 {
		q.lookAgain(wait)
		return nil
	}
	return slices.MinFunc(q.aside.waiting, func(a, b *waiter) int {
		return min(int(a.ask.Kind), 1) - min(int(b.ask.Kind), 1)
	})
}

// lookAgain has the queue look again after a while.
func (q *Queue) lookAgain(after time.Duration) {
	if q.aside.again != nil {
		q.aside.again.Stop()
	}
	q.aside.again = time.AfterFunc(after, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.admit()
	})
}
