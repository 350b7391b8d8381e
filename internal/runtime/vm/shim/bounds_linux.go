package shim

import (
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// within returns a time that the guest tells, as one of the machine's life until now: containerd and the node write it
// down, and what has no year of four digits cannot be written.
func (m *machine) within(t *timestamppb.Timestamp) *timestamppb.Timestamp {
	now := time.Now()
	at := t.AsTime()
	switch {
	case !t.IsValid() || at.After(now):
		at = now
	case at.Before(m.began):
		at = m.began
	}
	return timestamppb.New(at)
}

// Bounds of what a guest can have the shim tell containerd, whose log is the node's and whose processor time is not the
// machine's: lines of a minute, and how long a container is not told of again to be out of memory.
const (
	mostLines = 100
	oomPause  = time.Second
)

// boundedLog passes on mostLines lines a minute; each Write is one. The first of the next minute says how many were
// left out.
type boundedLog struct {
	to  io.Writer
	now func() time.Time

	mu         sync.Mutex
	began      time.Time
	lines, out int
}

// Write says that a line was written, also if it was left out.
func (l *boundedLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if now := l.now(); now.Sub(l.began) >= time.Minute {
		out := l.out
		l.began = now
		l.lines = 0
		l.out = 0
		if out > 0 {
			if _, err := fmt.Fprintf(l.to, "%d lines were left out\n", out); err != nil {
				return 0, err
			}
		}
	}

	if l.lines++; l.lines > mostLines {
		l.out++
		return len(line), nil
	}

	return l.to.Write(line)
}

// pauses says which of many events of a container are told.
type pauses map[string]time.Time

// over reports whether a container's last event was told long enough ago, and notes that one is told now.
func (p pauses) over(container string, now time.Time) bool {
	if last, ok := p[container]; ok && now.Sub(last) < oomPause {
		return false
	}
	p[container] = now
	return true
}
