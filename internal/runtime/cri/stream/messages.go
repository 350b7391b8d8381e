package stream

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

// Message is what a keeper has to say. The keeper outlives whoever takes down its errors, so it holds what it says
// until a server watches it.
type Message struct {
	Time  time.Time  `json:"time"`
	Level slog.Level `json:"level"`
	Text  string     `json:"msg"`
	// Container is the id of the container that it is about, Stream the name of one of its streams.
	Container string `json:"container,omitempty"`
	Stream    string `json:"stream,omitempty"`
	Error     string `json:"error,omitempty"`
	// Times is how often it has happened since it was last said, if that can be often.
	Times int `json:"times,omitempty"`
}

// mostMessages is how many messages wait for a server.
const mostMessages = 256

// messages are lines of JSON, each a Message. They are safe for concurrent use.
type messages struct {
	waiting chan []byte
	lost    atomic.Int64
}

func newMessages() *messages { return &messages{waiting: make(chan []byte, mostMessages)} }

// logger returns a log whose records become messages.
func (m *messages) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(m, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Write takes one message. It never waits: a container's output must not stand still for what is said of it.
func (m *messages) Write(line []byte) (int, error) {
	select {
	case m.waiting <- bytes.Clone(line):
	default:
		m.lost.Add(1)
	}
	return len(line), nil
}

// send sends messages to a client until it goes or ctx ends. One that cannot be sent waits for the next client, behind
// those that came meanwhile.
func (m *messages) send(ctx context.Context, c net.Conn, gone <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-gone:
			return
		case line := <-m.waiting:
			if lost := m.lost.Swap(0); lost > 0 {
				m.logger().Warn("messages of the keeper of streams lost", "times", lost)
			}
			_ = c.SetWriteDeadline(time.Now().Add(clientTimeout))
			if _, err := c.Write(line); err != nil {
				_, _ = m.Write(line)
				return
			}
		}
	}
}

// sayInterval is how often the same is said of a container: one that writes to a full disk would else fill the log.
const sayInterval = time.Minute

// losses counts what a stream has lost, and says so now and then.
type losses struct {
	log   *slog.Logger
	level slog.Level
	text  string
	now   func() time.Time

	times int
	said  time.Time
	last  error
}

// add counts one.
func (l *losses) add(ctx context.Context, err error) {
	l.times++
	l.last = err
	if l.said.IsZero() || l.now().Sub(l.said) >= sayInterval {
		l.say(ctx)
	}
}

// say says what has not been said.
func (l *losses) say(ctx context.Context) {
	if l.times == 0 {
		return
	}
	l.log.Log(ctx, l.level, l.text, "times", l.times, "error", l.last) //nolint:sloglint // one of two constants
	l.times, l.said = 0, l.now()
}
