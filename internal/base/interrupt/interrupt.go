// Package interrupt ends a command that is told to end, by Ctrl-C or SIGTERM. The first signal ends the command's
// context. A second one ends the process, and so does Grace after the first, because what waits in the kernel, for a
// pipe or a disk, does not look at a context. A command that puts things back when its context is over says so, and
// then has the time for it.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Grace is how long after the first signal the process ends by itself.
const Grace = 2 * time.Second

// key is the key of a context's guard.
type key struct{}

// guard knows what may not be cut short.
type guard struct {
	grace time.Duration
	end   func(os.Signal)

	mu        sync.Mutex
	first     os.Signal   // nil: none came
	timer     *time.Timer // runs since the first signal, but while somebody finishes
	finishing int
	serving   bool
	next      []chan struct{}
}

// Notify is Watch with the process's own signals: Ctrl-C and SIGTERM.
func Notify(parent context.Context, end func(os.Signal)) (ctx context.Context, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, stopWatch := Watch(parent, signals, end)
	return ctx, func() {
		signal.Stop(signals)
		stopWatch()
	}
}

// Watch gives a context that the first of the signals ends. The second calls end, and so does Grace after the first;
// end is to end the process. stop ends the context and the watch.
func Watch(parent context.Context, signals <-chan os.Signal, end func(os.Signal)) (ctx context.Context, stop func()) {
	return watch(parent, signals, Grace, end)
}

func watch(parent context.Context, signals <-chan os.Signal, grace time.Duration, end func(os.Signal)) (
	ctx context.Context, stop func(),
) {
	g := &guard{grace: grace, end: end}
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, key{}, g))
	over := make(chan struct{})
	go func() {
		for {
			select {
			case <-over:
				return
			case s := <-signals:
				g.came(s, cancel)
			}
		}
	}()

	return ctx, sync.OnceFunc(func() {
		close(over)
		g.quiet()
		cancel(nil)
	})
}

// guardOf returns the context's guard, nil if nothing watches.
func guardOf(ctx context.Context) *guard {
	g, _ := ctx.Value(key{}).(*guard)
	return g
}

// Finishing says that what follows puts things back when ctx is over, and ends by itself: the time does not end the
// process until done is called. A second signal still does.
func Finishing(ctx context.Context) (done func()) {
	g := guardOf(ctx)
	if g == nil {
		return func() {}
	}
	g.add(1)
	return sync.OnceFunc(func() { g.add(-1) })
}

// Serving says that the process is a service, which others wait for, and which takes what it takes to stop. From now on
// signals only end ctx.
func Serving(ctx context.Context) {
	if g := guardOf(ctx); g != nil {
		g.mu.Lock()
		g.serving = true
		g.rearm()
		g.mu.Unlock()
	}
}

// Next gives a channel that the next signal closes, which then does not end the process. Without a watch the channel is
// never closed.
func Next(ctx context.Context) <-chan struct{} {
	next := make(chan struct{})
	if g := guardOf(ctx); g != nil {
		g.mu.Lock()
		g.next = append(g.next, next)
		g.mu.Unlock()
	}
	return next
}

// Cause is why a context is over that a signal ended.
type Cause struct{ Signal os.Signal }

func (c *Cause) Error() string { return "ended by a signal: " + c.Signal.String() }

// Is makes it the error of any context that is over.
func (c *Cause) Is(err error) bool { return err == context.Canceled }

// Code returns the exit code of a process that a signal ended, as shells count.
func Code(s os.Signal) int {
	const signalled = 128
	if n, ok := s.(syscall.Signal); ok {
		return signalled + int(n)
	}
	return signalled + int(syscall.SIGINT)
}

// came takes a signal.
func (g *guard) came(s os.Signal, cancel context.CancelCauseFunc) {
	g.mu.Lock()
	isFirst, waiting := g.first == nil, g.next
	if isFirst {
		g.first = s
	}
	g.next = nil
	g.rearm()
	fatal := !isFirst && len(waiting) == 0 && !g.serving
	g.mu.Unlock()

	for _, w := range waiting {
		close(w)
	}

	cancel(&Cause{s})
	if fatal {
		g.end(s)
	}
}

func (g *guard) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.finishing += n
	g.rearm()
}

// rearm makes the timer run if it should, and stops it otherwise. g is locked.
func (g *guard) rearm() {
	runs := g.first != nil && g.finishing == 0 && !g.serving
	switch {
	case runs && g.timer == nil:
		g.timer = time.AfterFunc(g.grace, g.late)
	case !runs && g.timer != nil:
		g.timer.Stop()
		g.timer = nil
	}
}

// late is called when the time is over.
func (g *guard) late() {
	g.mu.Lock()
	s, fatal := g.first, g.timer != nil
	g.mu.Unlock()
	if fatal {
		g.end(s)
	}
}

// quiet keeps the time from ending a process that ends.
func (g *guard) quiet() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serving = true
	g.rearm()
}
