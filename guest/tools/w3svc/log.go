package w3svc

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// fields are those of IIS' log, in its order
// (https://learn.microsoft.com/windows/win32/http/w3c-logging).
const fields = "date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) " +
	"sc-status sc-substatus sc-win32-status time-taken"

// maxField is the length in bytes at which a field of the log is cut.
const maxField = 4 << 10

// Log is a web site's log in the W3C extended form, a file for each day (UTC) in one folder. A log that cannot be
// written holds no request up.
type Log struct {
	dir string
	now func() time.Time

	mu   sync.Mutex
	day  string
	file io.WriteCloser
}

// NewLog writes into the folder dir, which it makes with the first line.
func NewLog(dir string) *Log { return &Log{dir: dir, now: time.Now} }

// Close closes the day's file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file, l.day = nil, ""
	return err
}

// open has the file of a time's day open. mu is held.
func (l *Log) open(at time.Time) error {
	day := at.Format("060102")
	if day == l.day {
		return nil
	}
	if l.file != nil {
		_ = l.file.Close() // yesterday's; a line that it lacks is gone
		l.file, l.day = nil, ""
	}

	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(l.dir, "u_ex"+day+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}

	l.file, l.day = file, day
	_, err = fmt.Fprintf(file, "#Software: Mullion's W3SVC\r\n#Version: 1.0\r\n#Date: %s\r\n#Fields: %s\r\n",
		at.Format(time.DateTime), fields)
	return err
}

// field returns a text as a field of the log: without blanks and control characters, "-" if there is none.
func field(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '+'
		case r < ' ' || r == 0x7f:
			return -1
		}
		return r
	}, text[:min(len(text), maxField)])
	if text == "" {
		return "-"
	}
	return text
}

// write writes the line of a request.
func (l *Log) write(r *http.Request, status, sub int, took time.Duration) {
	at := l.now().UTC()
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	ip, port := "-", "-"
	if local != nil {
		ip, port, _ = net.SplitHostPort(local.String())
	}

	from, _, _ := net.SplitHostPort(r.RemoteAddr)
	line := fmt.Sprintf("%s %s %s %s %s %s - %s %s %s %d %d 0 %d\r\n", at.Format(time.DateTime), ip, field(r.Method),
		field(r.URL.Path), field(r.URL.RawQuery), port, field(from), field(r.UserAgent()), field(r.Referer()), status,
		sub, took.Milliseconds())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open(at) == nil {
		_, _ = io.WriteString(l.file, line)
	}
}

// logged writes a line for each request that its handler answered.
type logged struct {
	http.Handler
	log *Log
}

func (h logged) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := h.log.now()
	a := &answer{ResponseWriter: w, status: http.StatusOK}
	h.Handler.ServeHTTP(a, r)
	h.log.write(r, a.status, a.sub, h.log.now().Sub(began))
}

// answer notes the status that is answered. The substatus is refuse's to set: it is not sent.
type answer struct {
	http.ResponseWriter
	status, sub int
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}
