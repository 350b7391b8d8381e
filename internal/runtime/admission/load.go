package admission

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Load is how busy a node is with starting programs.
type Load struct {
	// Places is how many may start at once.
	Places int `json:"places"`
	// Starting and Waiting are how many start, and wait, at this moment, by kind.
	Starting map[string]int `json:"starting"`
	Waiting  map[string]int `json:"waiting"`
	// Execs and Starts count what was started since the agent began: programs in containers, and pods and containers.
	Execs  uint64 `json:"execs"`
	Starts uint64 `json:"starts"`
	// Waited counts those that had to wait, Longest is the longest that one waited.
	Waited  uint64        `json:"waited"`
	Longest time.Duration `json:"longestWait"`
	// NotStarted counts programs whose time was over before it was their turn, Late those that were started and not
	// done in their time, and Orphans the processes of such that were found and ended.
	NotStarted uint64 `json:"notStarted"`
	Late       uint64 `json:"late"`
	Orphans    uint64 `json:"orphans"`
	// Jammed counts how often a pod's programs were put aside, as one had a place for long and did not come up.
	Jammed uint64 `json:"jammed,omitempty"`
	// Typical is what a program in a container takes, from its turn to its end.
	Typical time.Duration `json:"typicalExec"`
	// Pods are those that had to wait for long within the last minute.
	Pods []PodLoad `json:"pods,omitempty"`
}

// PodLoad is how a pod fared within the last minute.
type PodLoad struct {
	Pod
	// NotStarted counts its programs that were not started in their time, of Asked that the kubelet asked for.
	NotStarted int `json:"notStarted,omitempty"`
	Asked      int `json:"asked,omitempty"`
	// Jammed says that its programs wait aside, since they do not come up.
	Jammed bool `json:"jammed,omitempty"`
	// StartWaits is for how long its start waits now.
	StartWaits time.Duration `json:"startWaits,omitempty"`
}

// podWait is what is kept of a pod whose programs had to wait.
type podWait struct {
	last       time.Time
	notStarted int
	asked      int
}

const (
	// longWait is a wait that is worth telling.
	longWait = 5 * time.Second
	// noticed is the shortest wait that is counted as one.
	noticed = 20 * time.Millisecond
	// window is for how long it is told that a pod's programs were not started.
	window = time.Minute
)

// NotStartedError says that a program's time was over before it was its turn.
type NotStartedError struct {
	// Waited is how long it waited, behind and beside how many others.
	Waited time.Duration
	Others int
	Places int
	// Jammed says that it waited aside, since programs of its pod do not come up.
	Jammed bool
	// Err is why the wait ended.
	Err error
}

// Error implements error.
func (e *NotStartedError) Error() string {
	if e.Jammed {
		return fmt.Sprintf("it was not started: an earlier program of this pod did not come up, so those of the pod have a "+
			"turn after all others; it waited %s: %v", e.Waited.Round(time.Millisecond), e.Err)
	}
	return fmt.Sprintf("it was not started: it waited %s for a processor, with %d others; the node starts %d at a time: "+
		"%v",
		e.Waited.Round(time.Millisecond), e.Others, e.Places, e.Err)
}

// Unwrap returns why the wait ended.
func (e *NotStartedError) Unwrap() error { return e.Err }

// notStarted counts a program that was not started. The caller holds the lock.
func (q *Queue) notStarted(w *waiter, why error) error {
	waited := q.now().Sub(w.since)
	q.waits(waited)
	if w.ask.Kind != Start && !w.deadline.IsZero() {
		q.figures.NotStarted++
		q.missed[w.ask.Container]++
		q.pod(w.ask.Pod).notStarted++
	}

	return &NotStartedError{
		Waited: waited,
		Others: q.others() + len(q.aside.waiting),
		Places: q.places,
		Jammed: q.isJammed(w.ask.Pod),
		Err:    why,
	}
}

// count counts a program that has its turn.
func (q *Queue) count(w *waiter, now time.Time) {
	q.waits(now.Sub(w.since))
	if w.ask.Kind == Start {
		q.figures.Starts++
		return
	}
	q.figures.Execs++
	if q.pods[w.ask.Pod] != nil {
		q.pods[w.ask.Pod].asked++
	}
}

func (q *Queue) waits(d time.Duration) {
	if d >= noticed {
		q.figures.Waited++
	}
	q.figures.Longest = max(q.figures.Longest, d)
}

// pod returns what is kept of a pod whose program was not started.
func (q *Queue) pod(p Pod) *podWait {
	if q.pods[p] == nil {
		q.pods[p] = &podWait{}
	}
	q.pods[p].last = q.now()
	q.pods[p].asked++
	return q.pods[p]
}

// Load returns the figures of this moment.
func (q *Queue) Load() Load {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, now := q.figures, q.now()
	l.Places, l.Typical = q.places, q.typical
	l.Starting, l.Waiting = map[string]int{}, map[string]int{}
	for k := range kinds {
		l.Starting[Kind(k).String()], l.Waiting[Kind(k).String()] = q.held[k], len(q.waiting[k])
	}

	for _, w := range q.aside.waiting {
		l.Waiting[w.ask.Kind.String()]++
	}

	if q.aside.held != nil {
		l.Starting[q.aside.held.ask.Kind.String()]++
	}

	all := map[Pod]*PodLoad{}
	of := func(p Pod) *PodLoad {
		if all[p] == nil {
			all[p] = &PodLoad{Pod: p}
		}
		return all[p]
	}

	for p, w := range q.pods {
		if now.Sub(w.last) > window {
			delete(q.pods, p)
			continue
		}
		of(p).NotStarted, of(p).Asked = w.notStarted, w.asked
		of(p).Jammed = q.isJammed(p)
	}

	for _, w := range q.waiting[Start] {
		if d := now.Sub(w.since); d >= longWait {
			of(w.ask.Pod).StartWaits = max(of(w.ask.Pod).StartWaits, d)
		}
	}

	for _, p := range all {
		l.Pods = append(l.Pods, *p)
	}

	slices.SortFunc(l.Pods, func(a, b PodLoad) int {
		return strings.Compare(a.Namespace+"/"+a.Name+a.UID, b.Namespace+"/"+b.Name+b.UID)
	})
	return l
}
