package containerinit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds of what is kept of Wine's lines: a program may meet thousands of kinds of them, and Wine writes long ones.
const (
	maxKinds = 500
	maxLine  = 300
	flushAge = time.Second
)

// tally counts Wine's lines by what they say. It is safe for concurrent use.
type tally struct {
	dir  *os.Root // the container's programs may write here too
	name string

	mu      sync.Mutex
	counts  map[string]int
	more    int // lines of kinds beyond maxKinds
	changed bool
}

// explain makes the pipe for Wine's lines, and a goroutine that counts what comes through it into a file. Call the
// returned function when the main program has ended: it writes the file for the last time.
func explain(file string) (write int, end func(), err error) {
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
		return 0, nil, err
	}
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		return 0, nil, err
	}

	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return 0, nil, err
	}

	t := &tally{
		dir:    dir,
		name:   filepath.Base(file),
		counts: map[string]int{},
	}

	read := os.NewFile(uintptr(fds[0]), "debug")
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.read(read)
	}()

	stop := make(chan struct{})
	go func() {
		tick := time.NewTicker(flushAge)
		defer tick.Stop()

		for {
			select {
			case <-tick.C:
				t.flush()
			case <-stop:
				return
			}
		}
	}()

	return fds[1], func() {
		close(stop)
		// Other programs may hold the pipe still; what the main program wrote is in it.
		_ = read.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		<-done
		t.flush()
	}, nil
}

// read counts lines until the pipe ends. A line that is longer than the buffer is cut.
func (t *tally) read(r *os.File) {
	buf := make([]byte, 0, 4096)
	skip := false // the rest of a line that was cut
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		for {
			end := bytes.IndexByte(buf, '\n')
			if end < 0 && len(buf) == cap(buf) {
				end = len(buf) - 1
			}
			if end < 0 {
				break
			}

			if !skip {
				t.count(string(buf[:end]))
			}
			skip = buf[end] != '\n'
			buf = buf[:copy(buf, buf[end+1:])]
		}

		if err != nil {
			return
		}
	}
}

func (t *tally) count(line string) {
	text := kind(line)
	if text == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed = true
	if _, known := t.counts[text]; !known && len(t.counts) >= maxKinds {
		t.more++
		return
	}
	t.counts[text]++
}

// kind returns what is alike of a line each time that it comes: it is without the thread, and its addresses and handles
// are "#". It is "" for a line that is none of Wine's diagnostics.
func kind(line string) string {
	line = strings.TrimRight(line, "\r ")
	if colon := strings.IndexByte(line, ':'); colon >= 4 && hexDigits(line[:colon]) == colon {
		line = line[colon+1:]
	}
	known := slices.ContainsFunc([]string{"fixme:", "err:", "wine: "}, func(p string) bool { return strings.HasPrefix(line, p) })
	if !known {
		return ""
	}

	var b strings.Builder
	for i := 0; i < len(line) && b.Len() < maxLine; {
		from := i
		if strings.HasPrefix(line[i:], "0x") {
			from += 2
		}

		n := hexDigits(line[from:])
		switch {
		case (n > 0 && from > i) || (n >= 6 && strings.ContainsAny(line[i:i+n], "0123456789")):
			b.WriteByte('#')
			i = from + n
		case n > 0 && from == i:
			b.WriteString(line[i : i+n])
			i += n
		default:
			b.WriteByte(line[i])
			i++
		}
	}

	return strings.ToValidUTF8(strings.ReplaceAll(b.String(), "\t", " "), "?")
}

// hexDigits counts the hexadecimal digits that a text begins with.
func hexDigits(s string) int {
	n := 0
	for n < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[n]) >= 0 {
		n++
	}
	return n
}

// flush writes the file if something was counted since the last time: a line "COUNT TEXT" for each kind, and last
// "COUNT" alone for lines of further kinds. The file is replaced whole. Errors are nobody's to hear here: the
// container's folder may be full.
func (t *tally) flush() {
	t.mu.Lock()
	var b strings.Builder
	if t.changed {
		for _, text := range sortedKeys(t.counts) {
			b.WriteString(strconv.Itoa(t.counts[text]) + " " + text + "\n")
		}
		if t.more > 0 {
			b.WriteString(strconv.Itoa(t.more) + "\n")
		}
	}

	t.changed = false
	t.mu.Unlock()
	if b.Len() == 0 {
		return
	}
	next := t.name + ".new"
	_ = t.dir.Remove(next)

	// Whatever a program puts there now, a link or a pipe, is not opened.
	f, err := t.dir.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return
	}
	_, err = f.WriteString(b.String())
	if err = errors.Join(err, f.Close()); err == nil {
		_ = t.dir.Rename(next, t.name)
	}
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
