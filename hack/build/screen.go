package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

const (
	// redraw is how often a terminal shows how far the steps are; speak is how often a file or a pipe is told.
	redraw = 500 * time.Millisecond
	speak  = 30 * time.Second
	// lastOutput is how much is kept of what a step says, for the case that it fails.
	lastOutput = 1 << 20
)

// screen says what the steps do. On a terminal the lines of those that run are rewritten; elsewhere a line follows the
// other.
type screen struct {
	mu       sync.Mutex
	out      io.Writer
	terminal int // its file descriptor; -1 if it is none
	drawn    int // lines of the running steps that stand at the bottom of the terminal
	active   []*running
}

// running is a step that runs.
type running struct {
	step step
	// last is how it was made in this checkout, cold from empty caches where that was measured.
	last, cold made
	from       time.Time

	mu       sync.Mutex
	compiled int
	loading  string // the module that is downloaded
	loaded   int
	output   []byte
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out, terminal: -1}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.terminal = int(f.Fd())
	}
	return s
}

// begin adds a step to those that run.
func (s *screen) begin(of step, last, cold made) *running {
	r := &running{
		step: of,
		last: last,
		cold: cold,
		from: time.Now(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = append(s.active, r)
	return r
}

// end takes a step away that is done, and says what it took.
func (s *screen) end(r *running, took times) {
	note := ""
	if n := r.packages(); n > 0 {
		note = fmt.Sprintf("  %d packages", n)
	}
	s.remove(r, fmt.Sprintf("ok   %-34s %8s%s", r.step.name, seconds(took.wall), note))
}

// fail takes a step away that did not succeed, with what it said.
func (s *screen) fail(r *running, took times) {
	s.remove(r, strings.TrimRight(fmt.Sprintf("FAIL %-34s %8s\n%s", r.step.name, seconds(took.wall), r.text()), "\n"))
}

// drop takes a step away that was ended before it was done.
func (s *screen) drop(r *running) { s.remove(r, "") }

func (s *screen) remove(r *running, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = slices.DeleteFunc(s.active, func(o *running) bool { return o == r })
	s.rewrite(line)
}

// print writes a line above those of the running steps.
func (s *screen) print(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rewrite(line)
}

// draw says how far the steps are until ctx ends.
func (s *screen) draw(ctx context.Context) {
	every := speak
	if s.terminal >= 0 {
		every = redraw
	}

	tick := time.NewTicker(every)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			s.mu.Lock()
			s.active = nil
			s.rewrite("")
			s.mu.Unlock()
			return

		case <-tick.C:
			s.mu.Lock()
			if s.terminal >= 0 {
				s.rewrite("")
			} else {
				for _, r := range s.active {
					fmt.Fprintf(s.out, "...  %s\n", r.status())
				}
			}
			s.mu.Unlock()
		}
	}
}

// rewrite replaces the lines of the running steps, below a new line above them if there is one. The terminal's width is
// asked each time, so a window may change its size.
func (s *screen) rewrite(line string) {
	var b bytes.Buffer
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", s.drawn)
		s.drawn = 0
	}
	if line != "" {
		b.WriteString(line + "\n")
	}

	if s.terminal >= 0 {
		width, _, err := term.GetSize(s.terminal)
		if err != nil || width <= 0 {
			width = 80
		}
		for _, r := range s.active {
			b.WriteString(cut("...  "+r.status(), width-1) + "\n")
			s.drawn++
		}
	}

	_, _ = s.out.Write(b.Bytes()) // a reader that is gone does not stop the build
}

// cut shortens a line to so many columns.
func cut(line string, columns int) string {
	if utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:max(columns-1, 0)]) + "…"
}

// status returns how far a step is, on one line.
func (r *running) status() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	took := time.Since(r.from)
	text := fmt.Sprintf("%-34s %8s", r.step.name, seconds(took))
	if r.loading != "" {
		return text + fmt.Sprintf("  downloading module %d, %s", r.loaded, r.loading)
	}

	most := max(r.last.Packages, r.cold.Packages)
	switch {
	case r.compiled == 0:
	case r.compiled < most:
		text += fmt.Sprintf("  %d packages compiled, of about %d", r.compiled, most)
	default:
		text += fmt.Sprintf("  %d packages compiled, linking", r.compiled)
	}

	if r.last.Seconds >= 5 {
		text += fmt.Sprintf("  (last time %s)", seconds(time.Duration(r.last.Seconds*float64(time.Second))))
	}

	return text
}

// line takes in a line that the step printed: the go command's -v names each package that it compiles.
func (r *running) line(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if module, ok := strings.CutPrefix(line, "go: downloading "); ok {
		r.loading = strings.ReplaceAll(module, " ", "@")
		r.loaded++
		return
	}

	if line == "" || strings.ContainsAny(line, " \t:#") {
		r.output = append(r.output, line...)
		r.output = append(r.output, '\n')
		if over := len(r.output) - lastOutput; over > 0 {
			r.output = r.output[over:]
		}
		return
	}

	r.loading = ""
	r.compiled++
}

func (r *running) packages() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.compiled
}

// text returns what the step said besides how far it was, and the module that it was downloading last.
func (r *running) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := string(r.output)
	if r.loading != "" {
		text += "the last module that was being downloaded: " + r.loading + "\n"
	}
	return text
}

// lines hands on what is written to it line by line.
type lines struct {
	mu   sync.Mutex
	to   func(string)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte{'\n'})
		if !found {
			return len(p), nil
		}
		l.to(string(line))
		l.rest = rest
	}
}

func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.to(string(l.rest))
		l.rest = nil
	}
}

// seconds returns a time as the lines show it.
func seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// remedy returns what to do about a step that did not succeed, "" if only a person can know.
func remedy(output string) string {
	for _, sign := range []string{
		"dial tcp", "i/o timeout", "connection reset", "connection refused", "no such host", "TLS handshake", "unexpected EOF",
		"502 Bad Gateway", "503 Service", "504 Gateway", "proxyconnect",
	} {
		if strings.Contains(output, sign) {
			return "\na module was not downloaded (above); give the same command again: what is there is kept, and the build goes on where it was"
		}
	}
	if strings.Contains(output, "no space left on device") {
		return "\nthe disk is full: compiled packages need some 5 GB (`go env GOCACHE`), modules 2 GB (`go env GOMODCACHE`), bin 1 GB"
	}

	return ""
}

// announce says what will be built, and before the first build of a checkout how long that took from empty caches where
// it was measured.
func (b *builder) announce(all int, todo []step) {
	if len(todo) < 2 {
		return
	}
	text := fmt.Sprintf("building %d programs and sets of programs", len(todo))
	if n := all - len(todo); n > 0 {
		text += fmt.Sprintf(" (%d more are up to date)", n)
	}
	if took := b.record.timeOf(todo); took > 0 && b.record.empty() {
		text += fmt.Sprintf("; from empty caches that took %s of processor time where it was measured", seconds(took))
	}
	b.screen.print(text)
}

// timeOf returns the processor time that steps took from empty caches, zero if one of them was never measured.
func (r *record) timeOf(steps []step) time.Duration {
	sum := 0.0
	for _, s := range steps {
		m, measured := r.cold[s.name]
		if !measured {
			return 0
		}
		sum += m.Processor
	}
	return time.Duration(sum * float64(time.Second))
}

func (r *record) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all) == 0
}
