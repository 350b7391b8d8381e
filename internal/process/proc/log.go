package proc

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/base/rotate"
)

// Limits of the tail, which is for error messages. The bytes are enough for the stack of one goroutine.
const (
	tailBytes = 16 << 10
	tailLines = 12
)

// A program of Go that ends for a panic says why, and then its stack: the number of a goroutine, and for each call a
// line with its name and one, indented, with its place.
var (
	goroutine = lazyregexp.New(`^goroutine \d+ .*\[.*\]:$`)
	frame     = lazyregexp.New(`^\t|\)$|^created by |^goroutine \d+ `)
)

// output takes a child's output: it writes it to a log file, which is rotated by size, and keeps a short tail. A write
// never fails for the child: if the file cannot be written (a full disk), only the tail is kept.
type output struct {
	mu   sync.Mutex
	file *rotate.File
	tail []byte
}

// openOutput opens the log file for appending; path "" keeps the tail only.
func openOutput(path string, limit int64) (*output, error) {
	o := &output{}
	if path == "" {
		return o, nil
	}
	var err error
	o.file, err = rotate.Open(path, limit)
	return o, err
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = append(o.tail, p...)
	if over := len(o.tail) - tailBytes; over > 0 {
		o.tail = append(o.tail[:0], o.tail[over:]...)
	}
	if o.file != nil {
		_, _ = o.file.Write(p) // a full disk must not stop the child: the tail has the text
	}
	return len(p), nil
}

// lines returns the last lines written, without the blank ones, and without the stack with which a program of Go ends,
// before which it says why.
func (o *output) lines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()

	var lines []string
	for line := range strings.SplitSeq(string(o.tail), "\n") {
		if line = strings.TrimRight(line, "\r\t "); line != "" {
			lines = append(lines, line)
		}
	}
	if len(o.tail) == tailBytes && len(lines) > 1 {
		lines = lines[1:] // the first one was cut
	}

	if i := slices.IndexFunc(lines, goroutine.MatchString); i > 0 && all(lines[i:], frame.MatchString) {
		lines = lines[:i]
	}
	return lines[max(0, len(lines)-tailLines):]
}

func all(lines []string, is func(string) bool) bool {
	return !slices.ContainsFunc(lines, func(line string) bool { return !is(line) })
}

// forget empties the tail, so that an error quotes only one run of the child.
func (o *output) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = nil
}

func (o *output) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		return nil
	}
	err := o.file.Close()
	o.file = nil
	return err
}

// pump copies from a pipe's reading end until its writers are gone and closes it; done is closed then.
func (o *output) pump(r *os.File) (done <-chan struct{}) {
	ch := make(chan struct{})
	go func() {
		defer close(ch)
		_, _ = io.Copy(o, r) // it ends with EOF, or when r is closed: neither is a fault
		_ = r.Close()        // closed twice at most, which is harmless
	}()
	return ch
}
