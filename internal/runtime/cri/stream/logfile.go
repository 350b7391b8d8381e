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

// logFile writes records of the CRI log format, "<RFC 3339 time> <stream> <P or F> <text>\n"
// (https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md).
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

// write adds one record.
func (l *logFile) write(stream string, at time.Time, full bool, text []byte) error {
	tag := byte('P')
	if full {
		tag = 'F'
	}
	record := at.AppendFormat(make([]byte, 0, len(text)+64), time.RFC3339Nano)
	record = append(record, ' ')
	record = append(record, stream...)
	record = append(record, ' ', tag, ' ')
	record = append(record, text...)
	record = append(record, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	_, err := l.file.Write(record)
	return err
}

// lineWriter cuts what is written into lines and passes them to a log as one stream. A line without an end is held
// until its end, or the stream's, comes.
type lineWriter struct {
	log    *logFile
	stream string
	now    func() time.Time
	held   []byte
}

// Write takes all of p; the error is the log's.
func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	var firstErr error
	keep := func(err error) {
		if firstErr == nil {
			firstErr = err
		}
	}
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
			keep(w.log.write(w.stream, w.now(), false, w.held[:maxLine]))
			w.held = append(w.held[:0], w.held[maxLine:]...)
		}
		if end >= 0 {
			keep(w.log.write(w.stream, w.now(), true, w.held))
			w.held = w.held[:0]
		}
	}
	return n, firstErr
}

// flush writes the held line when the stream ends. Because that line has no newline, it is logged as part of a line
// (P), as in containerd; readers would add a newline to a full one (F).
func (w *lineWriter) flush() error {
	if len(w.held) == 0 {
		return nil
	}
	err := w.log.write(w.stream, w.now(), false, w.held)
	w.held = nil
	return err
}

var _ io.Writer = (*lineWriter)(nil)
