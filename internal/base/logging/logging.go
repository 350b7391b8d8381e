// Package logging owns how much a program logs: the four levels by name, and a level that changes while the program
// runs. It does not own where the log goes.
package logging

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// Level is one of the four levels. The zero value is Info. It is a flag's value, and in files it is its name.
type Level slog.Level

// The levels. A program at one of them also logs what those after it do.
const (
	Debug = Level(slog.LevelDebug)
	Info  = Level(slog.LevelInfo)
	Warn  = Level(slog.LevelWarn)
	Error = Level(slog.LevelError)
)

// Names returns the names of the levels, from the one that logs the most.
func Names() []string { return []string{"debug", "info", "warn", "error"} }

// levels returns those of Names, in the same order.
func levels() []Level { return []Level{Debug, Info, Warn, Error} }

// Parse returns the level of that name.
func Parse(name string) (Level, error) {
	i := slices.Index(Names(), name)
	if i < 0 {
		return Info, fmt.Errorf("no log level %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return levels()[i], nil
}

// String returns the level's name.
func (l Level) String() string {
	if i := slices.Index(levels(), l); i >= 0 {
		return Names()[i]
	}
	return slog.Level(l).String()
}

// Level implements slog.Leveler.
func (l Level) Level() slog.Level { return slog.Level(l) }

// Set implements flag.Value.
func (l *Level) Set(name string) error { return l.UnmarshalText([]byte(name)) }

// MarshalText implements encoding.TextMarshaler.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Level) UnmarshalText(name []byte) (err error) {
	*l, err = Parse(string(name))
	return err
}

// Dial is the level of a process's log. It stands at a usual level, and at a lower one while somebody holds it there.
// It is safe for concurrent use.
type Dial struct {
	now slog.LevelVar

	mu    sync.Mutex
	usual Level
	held  map[Level]int // by how many
}

// NewDial returns a Dial at a usual level.
func NewDial(usual Level) *Dial {
	d := &Dial{held: map[Level]int{}}
	d.Set(usual)
	return d
}

// Level implements slog.Leveler: the level at this moment.
func (d *Dial) Level() slog.Level { return d.now.Level() }

// Now is Level, as one of the four.
func (d *Dial) Now() Level { return Level(d.now.Level()) }

// Usual returns the level at which the Dial stands while nobody holds it at a lower one.
func (d *Dial) Usual() Level {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.usual
}

// Set changes the usual level. Who holds a lower one keeps it.
func (d *Dial) Set(usual Level) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.usual = usual
	d.turn()
}

// Hold has at least everything logged that a level has, until release is called. Many can hold a Dial at once: the
// lowest level counts. A second call of release does nothing.
func (d *Dial) Hold(level Level) (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[level]++
	d.turn()

	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.held[level]--
		d.turn()
	})
}

// turn makes the lowest of the levels that are wanted the present one. The caller has d.mu.
func (d *Dial) turn() {
	now := d.usual
	for level, by := range d.held {
		if by > 0 {
			now = min(now, level)
		}
	}
	d.now.Set(slog.Level(now))
}

// New returns a log that writes lines of text to w, at the level that there is when a line is logged.
func New(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}
