package main

import (
	"fmt"
	"html"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// maxCallers bounds the table of callers; beyond it new ones share one row.
const maxCallers = 1000

// system is what the server tells of where it runs.
type system struct {
	version, product, host, user string
}

// server answers requests.
type server struct {
	system   system
	greeting string
	stopping atomic.Bool

	mu      sync.Mutex
	callers map[string]int
}

func newServer(sys system, greeting string) *server {
	return &server{
		system:   sys,
		greeting: greeting,
		callers:  map[string]int{},
	}
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	return mux
}

// ready says no as soon as the container is being shut down, so that no new requests are sent here.
func (s *server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.stopping.Load() {
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

// page writes HTML, and plain text to those who do not ask for HTML (curl).
func (s *server) page(w http.ResponseWriter, r *http.Request) {
	rows := [][2]string{
		{"Windows", s.system.version},
		{"Product", s.system.product},
		{"Host name", s.system.host},
		{"User", s.system.user},
		{"Addresses", strings.Join(addresses(), ", ")},
	}

	for _, c := range s.count(r.RemoteAddr) {
		rows = append(rows, [2]string{"Caller " + c.address, fmt.Sprintf("%d requests", c.count)})
	}

	w.Header().Set("Cache-Control", "no-store")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintln(w, s.greet())
		for _, row := range rows {
			_, _ = fmt.Fprintf(w, "%s: %s\n", row[0], row[1])
		}
		return
	}

	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(
		w, "<!doctype html><meta charset=utf-8><title>Windows container web server</title>\n<h1>%s</h1>\n<table>\n",
		html.EscapeString(s.greet()))
	for _, row := range rows {
		_, _ = fmt.Fprintf(w, "<tr><th align=left>%s<td>%s\n", html.EscapeString(row[0]), html.EscapeString(row[1]))
	}

	_, _ = fmt.Fprintln(w, "</table>")
}

// greet reads the greeting; a change of the ConfigMap shows with the next request.
func (s *server) greet() string {
	const otherwise = "Windows Container Web Server"
	raw, err := os.ReadFile(s.greeting)
	if err != nil {
		return otherwise
	}
	if text := strings.TrimSpace(string(raw)); text != "" {
		return text
	}
	return otherwise
}

// caller is one address with its requests.
type caller struct {
	address string
	count   int
}

// count counts a request and returns all callers, the busiest first.
func (s *server) count(remote string) []caller {
	address, _, err := net.SplitHostPort(remote)
	if err != nil {
		address = remote
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.callers[address]; !known && len(s.callers) >= maxCallers {
		address = "(others)"
	}

	s.callers[address]++
	out := make([]caller, 0, len(s.callers))
	for a, n := range s.callers {
		out = append(out, caller{a, n})
	}

	slices.SortFunc(out, func(a, b caller) int {
		if a.count != b.count {
			return b.count - a.count
		}
		return strings.Compare(a.address, b.address)
	})

	return out
}

// addresses returns the machine's addresses, without loopback and link-local.
func addresses() []string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []string
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			out = append(out, n.IP.String())
		}
	}
	return out
}
