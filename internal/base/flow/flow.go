// Package flow tells output that somebody still takes, however slowly, from output that nobody adds to any more. Who
// copies what a program has written cannot wait for the end alone, because what the program has left running holds its
// streams open; and if it waits for a fixed time, a slow reader loses the rest.
package flow

import (
	"context"
	"io"
	"sync"
	"time"
)

// lull is how long nothing is written when nothing is left to copy: far longer than a copy takes from one write to the
// next, also on a busy machine.
const lull = time.Second

// Meter sees the writes to its writers. The zero value is ready to use; it is safe for concurrent use.
type Meter struct {
	mu      sync.Mutex
	writing int // writes that have not returned
	last    time.Time
}

// Writer returns a writer to w that m sees.
func (m *Meter) Writer(w io.Writer) io.Writer { return &writer{to: w, meter: m} }

type writer struct {
	to    io.Writer
	meter *Meter
}

func (w *writer) Write(p []byte) (int, error) {
	w.meter.add(1)
	defer w.meter.add(-1)
	return w.to.Write(p)
}

func (m *Meter) add(writes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writing += writes
	m.last = time.Now()
}

// Await returns when done is closed or ctx ends; after patience also when nothing is being written.
func (m *Meter) Await(ctx context.Context, done <-chan struct{}, patience time.Duration) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-timer.C:
		}

		quiet := m.quiet()
		if quiet >= lull {
			return
		}
		timer.Reset(lull - quiet)
	}
}

// quiet returns for how long nothing has been written: 0 while a write waits for who takes it.
func (m *Meter) quiet() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writing > 0 {
		return 0
	}
	return time.Since(m.last)
}
