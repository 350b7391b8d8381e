package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mullion.dev/mullion/internal/base/lazyregexp"
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
	path  string
	limit int64

	mu   sync.Mutex
	file *os.File
	size int64
	tail []byte
}

// openOutput opens the log file for appending; path "" keeps the tail only.
func openOutput(path string, limit int64) (*output, error) {
	o := &output{path: path, limit: limit}
	if path == "" {
		return o, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if err := o.open(); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *output) open() error {
	f, err := os.OpenFile(o.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open log: %w", err), f.Close())
	}
	o.file, o.size = f, info.Size()
	return nil
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = append(o.tail, p...)
	if over := len(o.tail) - tailBytes; over > 0 {
		o.tail = append(o.tail[:0], o.tail[over:]...)
	}
	if o.file == nil {
		return len(p), nil
	}
	if o.size > 0 && o.size+int64(len(p)) > o.limit {
		o.rotate()
	}
	if o.file != nil {
		n, _ := o.file.Write(p) // a full disk must not stop the child: the tail has the text
		o.size += int64(n)
	}
	return len(p), nil
}

// rotate moves the file to .1 and .1 to .2. If a step fails, output goes on to the old file.
func (o *output) rotate() {
	if err := os.Rename(o.path+".1", o.path+".2"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return
	}
	if err := os.Rename(o.path, o.path+".1"); err != nil {
		return
	}
	old := o.file
	if err := o.open(); err != nil {
		return
	}
	_ = old.Close() // nothing is buffered; the data has been written
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
