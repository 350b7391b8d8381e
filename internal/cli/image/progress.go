package image

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/runtime/dockerfile"
)

// buildProgress tells how a build goes on, as Docker's plain progress does: each line begins with its step's number.
type buildProgress struct {
	to    io.Writer
	name  string // the Dockerfile's
	now   func() time.Time
	quiet bool // only warnings are told
}

// longestLine is how much of a line of a Dockerfile is shown, in bytes: somebody may have made it very long.
const longestLine = 1000

// say tells a step or a warning.
func (p *buildProgress) say(e dockerfile.Event) {
	switch {
	case p.quiet && e.Warning == "":
	case e.Step != "":
		fmt.Fprintf(p.to, "#%d %s\n", e.Number, plaintext.OneLine(plaintext.Shortened(e.Step, longestLine)))
	case e.Ended && e.Cached:
		fmt.Fprintf(p.to, "#%d CACHED\n\n", e.Number)
	case e.Ended:
		fmt.Fprintf(p.to, "#%d DONE %.1fs\n\n", e.Number, e.Took.Seconds())
	default:
		name := p.name
		if e.Line > 0 {
			name = fmt.Sprintf("%s:%d", name, e.Line)
		}
		fmt.Fprintf(p.to, "warning: %s: %s\n", name, plaintext.OneLine(plaintext.Shortened(e.Warning, longestLine)))
	}
}

// output returns where the output of a step's command goes.
func (p *buildProgress) output(step int) *stepOutput {
	return &stepOutput{
		progress: p,
		step:     step,
		began:    p.now(),
	}
}

// stepOutput prints the lines of a step's command. Both of its streams may be written to at once.
type stepOutput struct {
	progress *buildProgress
	step     int
	began    time.Time

	mu   sync.Mutex
	line []byte
	// kept are the last lines of a build that says nothing, for the case that the command fails.
	kept []string
}

// mostKept is how many lines are kept.
const mostKept = 40

// longestOutput is how much of a line is kept until it ends, in bytes.
const longestOutput = 64 << 10

// Write prints what is a line.
func (o *stepOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		o.line = append(o.line, line[:min(len(line), longestOutput)]...)
		if ended || len(o.line) >= longestOutput {
			o.print()
		}
		rest = after
	}
	return len(p), nil
}

// flush prints what has no end of a line.
func (o *stepOutput) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.line) > 0 {
		o.print()
	}
}

func (o *stepOutput) print() {
	text := string(bytes.TrimSuffix(o.line, []byte("\r")))
	o.line = o.line[:0]
	line := fmt.Sprintf("#%d %.3f %s\n", o.step, o.progress.now().Sub(o.began).Seconds(), plaintext.OneLine(text))
	if o.progress.quiet {
		o.kept = append(o.kept, line)
		o.kept = o.kept[max(0, len(o.kept)-mostKept):]
		return
	}
	fmt.Fprint(o.progress.to, line)
}

// failed prints what was kept of a command that has failed.
func (o *stepOutput) failed() {
	o.flush()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, line := range o.kept {
		fmt.Fprint(o.progress.to, line)
	}
	o.kept = nil
}
