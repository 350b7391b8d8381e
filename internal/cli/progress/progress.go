package progress

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/screen"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
)

const (
	// quiet is how long nothing is printed, where there is no terminal, before a line says what is waited for.
	quiet = 30 * time.Second
	// redraw is how often the block on a terminal is drawn again, for its seconds.
	redraw = time.Second
	// mostRows are the rows of that block.
	mostRows = 12
)

// Progress tells a person, or a program, how a command that takes its time gets on.
type Progress struct {
	flags  Flags
	screen *screen.Screen
	events *events // nil: for a person

	mu sync.Mutex
	picture
	watching bool            // the cluster is being brought up
	step     *step           // the command's own that is under way
	done     map[string]bool // groups that have their line
	said     time.Time       // when something was printed
	end      context.CancelFunc
}

// step is something that the command does itself, beside the cluster's parts.
type step struct {
	name  string
	begun time.Time
}

// Start begins to tell; its Close ends it.
func Start(ctx context.Context, call *invoke.Call, f Flags) *Progress {
	r := newProgress(f, f.Screen(call), time.Now)
	if f.JSON() {
		r.events, r.screen = &events{out: call.Env.Out, now: time.Now}, screen.New(io.Discard, nil, false)
		call.Failed = r.events.failed
	}
	if f.Quiet {
		r.screen = screen.New(io.Discard, nil, false)
	}

	ctx, r.end = context.WithCancel(ctx)
	var resized <-chan struct{}
	if call.Env.Resized != nil && r.screen.Live() {
		resized = call.Env.Resized(ctx)
	}
	go r.follow(ctx, resized)
	return r
}

// Of says what the nodes are, in the order of their rows, and Kubernetes' version.
func (r *Progress) Of(nodes []Node, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes, r.version = nodes, version
}

// Flags returns how the command speaks.
func (r *Progress) Flags() Flags { return r.flags }

func newProgress(f Flags, s *screen.Screen, now func() time.Time) *Progress {
	return &Progress{
		flags:  f,
		screen: s,
		picture: picture{
			now:    now,
			since:  map[component.ID]time.Time{},
			known:  map[component.ID]component.State{},
			failed: map[component.ID]string{},
		},
		done: map[string]bool{},
		said: now(),
		end:  func() {},
	}
}

// follow draws again what goes on, until ctx is over.
func (r *Progress) follow(ctx context.Context, resized <-chan struct{}) {
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.tick()
		case <-resized:
			r.screen.Again()
		}
	}
}

// tick says how far it is now.
func (r *Progress) tick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draw()
	r.remind()
}

// Close ends the progress; what is drawn stays.
func (r *Progress) Close() {
	r.end()
	r.Settle()
}

// Begin says that the command does something itself; the function that it returns says how that ended, in a few words
// or by an error.
func (r *Progress) Begin(name string) func(text string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &step{name: name, begun: r.now()}
	r.step = s
	r.emitStep(name, component.Starting, 0, "")
	r.draw()

	return func(text string, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.step = nil
		took := r.now().Sub(s.begun).Seconds()
		if err != nil { // the command says it, at its end
			r.emitStep(name, component.Failed, took, err.Error())
			r.draw()
			return
		}

		r.emitStep(name, component.Ready, took, text)
		r.print(row{
			name:    name,
			state:   component.Ready,
			seconds: took,
			text:    text,
		})
	}
}

// Note says more of what was done.
func (r *Progress) Note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Emit(Event{Type: typeStep, Message: text})
	r.printLines(screen.Line{Mark: " ", Text: text})
}

// OK says that something is done, whose name says all.
func (r *Progress) OK(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emitStep("", component.Ready, 0, text)
	r.printLines(screen.Line{
		Mark: "ok",
		Tone: screen.Good,
		Text: text,
	})
}

// Say prints a text for people, whole.
func (r *Progress) Say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.printLines(screen.Line{Text: strings.TrimSuffix(fmt.Sprintf(format, args...), "\n")})
}

// Emit tells programs of an event, if the command speaks to one.
func (r *Progress) Emit(what Event) {
	if r.events != nil {
		r.events.emit(what)
	}
}

func (r *Progress) emitStep(name string, state component.State, seconds float64, message string) {
	r.Emit(Event{
		Type:    typeStep,
		Unit:    name,
		State:   string(state),
		Seconds: seconds,
		Message: message,
	})
}

// Ended tells programs of the cluster that is up.
func (r *Progress) Ended(seconds float64, c Cluster) {
	r.Emit(Event{
		Type:    typeCluster,
		Seconds: seconds,
		Cluster: &c,
	})
}

// Watch begins to say how a cluster gets on.
func (r *Progress) Watch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watching, r.begun = true, r.now()
}

// Told takes what the supervisor says.
func (r *Progress) Told(p cluster.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()

	now := r.now()
	r.begun, r.units = now.Add(-p.Elapsed), p.Units
	for _, u := range p.Units {
		if u.State == r.known[u.ID] || (u.State == component.Waiting && r.known[u.ID] == "") {
			continue
		}
		r.known[u.ID] = u.State
		r.changed(u, now)
	}

	if !r.flags.Verbose && !r.screen.Live() {
		r.printGroups()
	}
	r.draw()
	r.remind()
}

// changed says that a unit has come to a state.
func (r *Progress) changed(u supervisor.UnitStatus, now time.Time) {
	message := plaintext.OneLine(u.Error)
	r.Emit(Event{
		Type:    typeUnit,
		Unit:    u.ID.String(),
		Node:    u.ID.Node,
		State:   string(u.State),
		Seconds: u.Seconds,
		Message: message,
	})

	switch u.State {
	case component.Starting:
		r.since[u.ID] = now
		return

	case component.Failed:
		if u.Reason == component.Cancelled { // another one failed
			return
		}
		first, _, _ := strings.Cut(u.Error, "\n") // the command's error has the rest
		message = plaintext.OneLine(first)
		r.failed[u.ID] = message

	case component.Ready:
	default:
		return
	}

	if r.flags.Verbose {
		r.printLines(unitLine(u, message))
	}
}

// printGroups prints a line for each group of units that is done and has none.
func (r *Progress) printGroups() {
	for _, w := range r.unitRows() {
		if (w.state == component.Ready || w.state == component.Failed) && !r.done[w.name] {
			r.done[w.name] = true
			r.print(w)
		}
	}
}

// Settle ends the units: on a terminal, the picture of them stays.
func (r *Progress) Settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := r.unitRows()
	r.units, r.watching = nil, false
	r.screen.Draw(nil)
	if r.screen.Live() && !r.flags.Verbose {
		r.print(rows...)
	}
}

// draw draws the block.
func (r *Progress) draw() {
	if !r.screen.Live() {
		return
	}

	var rows []row
	if !r.flags.Verbose {
		rows = r.unitRows()
	} else if busy := r.waitedFor(); busy != "" {
		r.screen.Draw([]screen.Line{{Mark: "…", Text: fmt.Sprintf("%.0fs %s", r.elapsed().Seconds(), busy)}})
		return
	}

	if r.step != nil {
		took := r.now().Sub(r.step.begun).Seconds()
		rows = append(rows, row{
			name:    r.step.name,
			state:   component.Starting,
			seconds: took,
		})
	}
	r.screen.Draw(lines(r.fold(rows, r.screen.Room(mostRows))))
}

// remind says what is waited for if nothing was said for long.
func (r *Progress) remind() {
	if r.screen.Live() || (!r.watching && r.step == nil) || r.now().Sub(r.said) < quiet {
		return
	}
	after, busy := r.elapsed(), r.waitedFor()
	if r.step != nil {
		after = r.now().Sub(r.step.begun)
	}

	if busy == "" {
		busy = "the supervisor"
	}
	r.Emit(Event{
		Type:    typeWaiting,
		Seconds: after.Round(time.Second).Seconds(),
		Message: busy,
	})
	r.printLines(screen.Line{Mark: "…", Text: fmt.Sprintf("after %.0fs, waiting for %s", after.Seconds(), busy)})
}

// waitedFor returns the units that are starting, each with how long it has taken if that is long; or the step that is
// under way.
func (r *Progress) waitedFor() string {
	var busy []string
	if r.step != nil {
		busy = append(busy, r.step.name)
	}
	for _, u := range r.units {
		if u.State == component.Starting {
			busy = append(busy, u.ID.String()+r.long(u.ID))
		}
	}
	return strings.Join(busy, ", ")
}

func (r *Progress) print(rows ...row) { r.printLines(lines(rows)...) }

func (r *Progress) printLines(all ...screen.Line) {
	if len(all) == 0 {
		return
	}
	r.screen.Print(all...)
	r.said = r.now()
}
