// Package ginkgo is the server for Ginkgo's parallel test processes: they share out the specs by it, and report each
// spec to it as it ends. The ginkgo program contains the same server, but keeps the reports to itself until all specs
// have ended; this server passes every report on at once, so that nothing is lost when a run is cut short.
//
// It speaks the HTTP form of the protocol (GINKGO_PARALLEL_PROTOCOL=HTTP), which is internal to Ginkgo: this is the
// protocol of v2.28.1, to which the e2e tests are pinned
// (https://github.com/onsi/ginkgo/blob/v2.28.1/internal/parallel_support/http_server.go and server_handler.go).
//
// Specs that must run alone ([Serial]) are run by process 1 when all others have ended, which the processes arrange
// themselves. If there is only one process, it is told that there are two, because a process that is alone uses no
// server; the second one counts as ended.
package ginkgo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// ProtocolEnv makes a process speak the protocol's HTTP form.
const ProtocolEnv = "GINKGO_PARALLEL_PROTOCOL=HTTP"

// maxReport bounds one report; a failed spec's output can be many megabytes.
const maxReport = 512 << 20

// Events are called as the processes report, one at a time.
type Events struct {
	// Begin is called for each process before its first spec.
	Begin func(Suite)
	// Ran is called with each report: of specs, also those that are not selected, and of the work before and after all
	// specs.
	Ran func(Report)
	// Output is called with the output of the processes while no spec runs.
	Output func([]byte)
}

// Server shares out the specs among processes.
type Server struct {
	events   Events
	listener net.Listener
	http     http.Server
	token    string

	mu          sync.Mutex
	next        int
	ended       map[int]bool
	processes   int
	beforeSuite json.RawMessage
	reportState json.RawMessage
	abort       bool
}

// Listen starts a server for a number of processes on a free port of the loopback interface.
func Listen(ctx context.Context, processes int, events Events) (*Server, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for test processes: %w", err)
	}

	s := &Server{
		events:    events,
		listener:  l,
		token:     rand.Text(),
		processes: processes,
		ended:     map[int]bool{},
	}

	mux := http.NewServeMux()
	for path, handle := range map[string]http.HandlerFunc{
		"/up":                                 func(http.ResponseWriter, *http.Request) {},
		"/suite-will-begin":                   s.begin,
		"/did-run":                            s.ran,
		"/suite-did-end":                      discard,
		"/emit-output":                        s.output,
		"/progress-report":                    discard,
		"/report-before-suite-completed":      s.keep(&s.reportState),
		"/report-before-suite-state":          s.kept(&s.reportState),
		"/before-suite-completed":             s.keep(&s.beforeSuite),
		"/before-suite-state":                 s.kept(&s.beforeSuite),
		"/have-nonprimary-procs-finished":     s.othersEnded,
		"/aggregated-nonprimary-procs-report": s.othersReport,
		"/counter":                            s.counter,
		"/abort":                              s.aborting,
	} {
		mux.HandleFunc("/"+s.token+path, handle)
	}

	s.http = http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(l) }() // ends with Close
	return s, nil
}

// Args returns the flags that make process number n (from 1) use this server.
func (s *Server) Args(n int) []string {
	return []string{
		fmt.Sprintf("--ginkgo.parallel.process=%d", n),
		fmt.Sprintf("--ginkgo.parallel.total=%d", max(s.processes, 2)),
		fmt.Sprintf("--ginkgo.parallel.host=http://%s/%s", s.listener.Addr(), s.token),
	}
}

// Ended tells the server that process n has ended, for whatever reason.
func (s *Server) Ended(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[n] = true
}

// Abort makes the processes end after tidying up.
func (s *Server) Abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abort = true
}

// Close ends the server.
func (s *Server) Close() error {
	if err := s.http.Close(); err != nil {
		return fmt.Errorf("close server of test processes: %w", err)
	}
	return nil
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request) {
	var suite Suite
	if decode(w, r, &suite) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events.Begin(suite)
	}
}

func (s *Server) ran(w http.ResponseWriter, r *http.Request) {
	var report Report
	if decode(w, r, &report) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events.Ran(report)
	}
}

func (s *Server) output(_ http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(io.LimitReader(r.Body, maxReport))
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events.Output(data)
	}
}

// keep stores the data that process 1 sends for the other processes, unchanged.
func (s *Server) keep(where *json.RawMessage) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var state json.RawMessage
		if decode(w, r, &state) {
			s.mu.Lock()
			defer s.mu.Unlock()
			*where = state
		}
	}
}

// kept sends the data of keep to the other processes; 425 means not yet, 410 that process 1 has ended without sending
// any.
func (s *Server) kept(where *json.RawMessage) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case *where != nil:
			_, _ = w.Write(*where) // a process that has gone needs no answer
		case s.ended[1]:
			w.WriteHeader(http.StatusGone)
		default:
			w.WriteHeader(http.StatusTooEarly)
		}
	}
}

func (s *Server) othersEnded(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := 2; n <= s.processes; n++ {
		if !s.ended[n] {
			w.WriteHeader(http.StatusTooEarly)
			return
		}
	}
}

// othersReport would send process 1 the others' reports for files that it writes at the end. It is not told to write
// any.
func (*Server) othersReport(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }

func (s *Server) counter(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(w, `{"Index":%d}`, s.next)
	s.next++
}

func (s *Server) aborting(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Method == http.MethodPost:
		s.abort = true
	case s.abort:
		w.WriteHeader(http.StatusGone)
	}
}

func discard(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }

func decode(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReport)).Decode(v); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}
