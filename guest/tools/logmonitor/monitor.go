package logmonitor

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"mullion.dev/mullion/guest/eventlog"
)

// load reads a configuration file.
func load(file string) (config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return config{}, err
	}
	c, err := parse(text)
	if err != nil {
		return config{}, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// sentence returns an error with a full stop, which Windows' own have.
func sentence(err error) string { return strings.TrimRight(err.Error(), ".") + "." }

// monitor prints what sources and the program say.
type monitor struct {
	Streams
	system System
	config config
	files  []*follower
	logs   []followed

	stopTrace func() (lost uint32, err error) // nil: there is no session for ETW

	lock sync.Mutex // of the output
}

// followed is a log and what is said of it in the configuration.
type followed struct {
	channel
	log    Log
	failed *bool // an error was told
}

// complain writes a message of LogMonitor itself.
func (m *monitor) complain(format string, args ...any) {
	m.lock.Lock()
	defer m.lock.Unlock()
	fmt.Fprintf(m.Err, "[%s][LOGMONITOR] %s\n", stamp(time.Now()), fmt.Sprintf(format, args...))
}

// print writes an entry.
func (m *monitor) print(e entry, custom template) {
	m.lock.Lock()
	defer m.lock.Unlock()
	fmt.Fprintln(m.Out, e.line(m.config.format, custom))
}

// begin starts to monitor: what comes from now on is printed.
func (m *monitor) begin(c config) {
	m.config = c
	for _, p := range c.problems {
		m.complain("WARNING: In the configuration, %s.", p)
	}

	for _, ch := range c.channels {
		query, err := eventlog.Filter{Levels: ch.levels}.XPath()
		var log Log
		if err == nil {
			log, err = m.system.Subscribe(eventlog.Query{Log: ch.name, XPath: query}, ch.oldest)
		}
		if err != nil {
			m.complain("ERROR: Subscribing to the event log %s: %s Its events are not monitored.", ch.name, sentence(err))
			continue
		}

		m.logs = append(m.logs, followed{ch, log, new(bool)})
	}

	for _, source := range c.files {
		m.files = append(m.files, &follower{
			fileSource: source,
			complain:   m.complain,
			print: func(name, line string) {
				if source.namesFirst {
					line = name + ": " + line
				}
				m.print(entry{
					from:    fromFile,
					time:    time.Now(),
					message: line,
					file:    name,
				}, source.custom)
			},
		})
	}

	m.trace(c.providers)
	m.poll(false)
}

// poll prints what has come since the last round.
func (m *monitor) poll(last bool) {
	for _, l := range m.logs {
		err := l.log.Read(func(e eventlog.Event) { m.print(l.entry(e), l.custom) })
		if err != nil && !*l.failed {
			m.complain("ERROR: Reading the event log %s: %s It is tried again.", l.name, sentence(err))
		}
		*l.failed = err != nil
	}
	for _, f := range m.files {
		f.poll(time.Now(), last)
	}
	if last {
		m.endTrace()
	}
}

// entry returns an event to print. Where its source has no text for it, it has the strings of the event.
func (c channel) entry(e eventlog.Event) entry {
	level := "Unknown"
	if names := levelNames(); e.Level >= 1 && int(e.Level) <= len(names) {
		level = names[e.Level-1]
	}
	text := e.Message
	if text == "" {
		text = strings.Join(e.Data, " ")
	}

	if !c.multiLine {
		text = oneLine(text)
	}
	return entry{
		from: fromEventLog, time: e.Time, message: text, provider: e.Provider, channel: e.Log, level: level, id: e.ID,
	}
}
