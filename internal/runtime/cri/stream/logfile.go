package stream

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"
)

// maxLine is the longest part of a line in a log record; longer lines are split and their parts tagged P. It is the
// default of containerd's CRI (max_container_log_line_size).
const maxLine = 16 * 1024

// logFile is the file of a container's log, which the kubelet rotates.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
}

// openLog opens the log at path, made if it is not there. An empty path discards.
func openLog(path string) (*logFile, error) {
	l := &logFile{path: path}
	if path == "" {
		return l, nil
	}
	return l, l.reopen()
}

// reopen opens the path anew: the kubelet has renamed the file away.
func (l *logFile) reopen() error {
	if l.path == "" {
		return nil
	}
	file, err := openLogFile(l.path)
	if err != nil {
		return err
	}

	l.mu.Lock()
	old := l.file
	l.file = file
	l.mu.Unlock()
	if old != nil {
		return old.Close()
	}

	return nil
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}

// Write adds records.
func (l *logFile) Write(records []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return len(records), nil
	}
	return l.file.Write(records)
}

// Lines cuts what is written into lines and passes them on as records of the CRI log format,
// "<RFC 3339 time> <stream> <P or F> <text>\n"
// (https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md): whole ones, as many at
// a time as one Write makes. A line without an end is held until its end, or the stream's, comes.
type Lines struct {
	log    io.Writer
	stream string
	now    func() time.Time
	held   []byte
	ready  []byte // records that are not yet passed on
}

// NewLines returns the lines of a stream ("stdout" or "stderr") whose records go to a log.
func NewLines(log io.Writer, stream string) *Lines {
	return &Lines{
		log:    log,
		stream: stream,
		now:    time.Now,
	}
}

// Write takes all of p; the error is the log's.
func (w *Lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		line := p
		if end >= 0 {
			line, p = p[:end], p[end+1:]
		} else {
			p = nil
		}

		w.held = append(w.held, line...)
		for len(w.held) > maxLine {
			w.record('P', w.held[:maxLine])
			w.held = append(w.held[:0], w.held[maxLine:]...)
		}

		if end >= 0 {
			w.record('F', w.held)
			w.held = w.held[:0]
		}
	}

	return n, w.pass()
}

// record makes a record of a whole line (F) or of a part of one (P).
func (w *Lines) record(tag byte, text []byte) {
	w.ready = w.now().AppendFormat(w.ready, time.RFC3339Nano)
	w.ready = append(w.ready, ' ')
	w.ready = append(w.ready, w.stream...)
	w.ready = append(w.ready, ' ', tag, ' ')
	w.ready = append(w.ready, text...)
	w.ready = append(w.ready, '\n')
}

// mostReady is how much memory for records is kept, in bytes: many short lines need much, seldom.
const mostReady = 256 << 10

// pass passes on the records that there are.
func (w *Lines) pass() error {
	if len(w.ready) == 0 {
		return nil
	}
	_, err := w.log.Write(w.ready)
	if w.ready = w.ready[:0]; cap(w.ready) > mostReady {
		w.ready = nil
	}
	return err
}

// Flush writes the held line when the stream ends. Because that line has no newline, it is logged as part of a line
// (P), as in containerd; readers would add a newline to a full one (F).
func (w *Lines) Flush() error {
	if len(w.held) == 0 {
		return nil
	}
	w.record('P', w.held)
	w.held = nil
	return w.pass()
}

var _ io.Writer = (*Lines)(nil)
