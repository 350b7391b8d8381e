package dotnet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// listener is a System.Net.HttpListener: a server whose requests a script takes one by one
// (https://learn.microsoft.com/en-us/dotnet/api/system.net.httplistener). On Windows http.sys serves, here net/http.
type listener struct {
	prefixes []string
	open     map[string]net.Listener // by port, while it listens
	server   *http.Server
	requests chan *exchange
	queue    chan struct{} // a place for each request that waits
	ended    chan struct{}
	ctx      context.Context //nolint:containedctx // the session's, which ends all of it
	closed   bool
	ignores  bool // errors of writing to a client that is gone

	mu   sync.Mutex
	busy map[*exchange]bool
}

const (
	listenerException = "System.Net.HttpListenerException"
	listenerName      = "System.Net.HttpListener"
	invalidOperation  = "System.InvalidOperationException"
)

// queueLength is how many requests wait for GetContext before others are answered 503: http.sys' own.
const queueLength = 1000

// parsedPrefix is a prefix of URLs: http://host:port/path/.
type parsedPrefix struct{ host, port, path string }

func parsePrefix(s string) (parsedPrefix, error) {
	bad := func(message string) (parsedPrefix, error) {
		return parsedPrefix{}, object.Raise(object.ArgumentException, message+"\nParameter name: uriPrefix")
	}

	low := strings.ToLower(s)
	switch {
	case strings.HasPrefix(low, "https://"):
		return parsedPrefix{}, object.Thrown("A listener for https is not part of Mullion's PowerShell.")
	case !strings.HasPrefix(low, "http://"):
		return bad("Only Uri prefixes starting with 'http://' or 'https://' are supported.")
	case !strings.HasSuffix(s, "/"):
		return bad("Only Uri prefixes ending in '/' are allowed.")
	}

	host, path, _ := strings.Cut(s[len("http://"):], "/")
	p := parsedPrefix{
		host: host,
		port: "80",
		path: "/" + path,
	}

	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		p.host, p.port = host[:i], host[i+1:]
	}

	if n, err := net.LookupPort("tcp", p.port); err != nil || n == 0 || p.host == "" {
		return bad("Invalid port in prefix.")
	}

	return p, nil
}

// fits reports whether a request's host and path are the prefix's.
func (p parsedPrefix) fits(host string, local net.Addr, path string) (hostFits, fits bool) {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}

	switch {
	case p.host == "*", p.host == "+", strings.EqualFold(p.host, name):
	default: // an address may be asked for by another name
		want, err := netip.ParseAddr(strings.Trim(p.host, "[]"))
		if at, ok := local.(*net.TCPAddr); err != nil || !ok || at.AddrPort().Addr().Unmap() != want {
			return false, false
		}
	}

	return true, strings.HasPrefix(strings.ToLower(path)+"/", strings.ToLower(p.path))
}

func (l *listener) usable() error {
	if l.closed {
		return object.Raise("System.ObjectDisposedException",
			"Cannot access a disposed object.\nObject name: '"+listenerName+"'.")
	}
	return nil
}

// add adds a prefix. A listener that listens takes it at once.
func (l *listener) add(s *session.State, prefix string) error {
	if err := l.usable(); err != nil {
		return err
	}

	p, err := parsePrefix(prefix)
	if err != nil {
		return err
	}

	if slices.Contains(l.prefixes, prefix) {
		return conflict(prefix)
	}

	if l.open != nil {
		if err := l.listen(s, prefix, p.port); err != nil {
			return err
		}
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	l.prefixes = append(l.prefixes, prefix)
	return nil
}

func conflict(prefix string) error {
	return object.Raise(listenerException, "Failed to listen on prefix '"+prefix+
		"' because it conflicts with an existing registration on the machine.")
}

// remove removes prefixes; the ports stay open until the listener stops.
func (l *listener) remove(is func(prefix string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prefixes = slices.DeleteFunc(l.prefixes, is)
}

// start opens the ports of all prefixes.
func (l *listener) start(s *session.State) error {
	if err := l.usable(); err != nil || l.open != nil {
		return err
	}

	l.mu.Lock()
	l.open, l.busy = map[string]net.Listener{}, map[*exchange]bool{}
	l.requests, l.ended = make(chan *exchange), make(chan struct{})
	l.queue, l.ctx = make(chan struct{}, queueLength), s.Whole
	l.mu.Unlock()
	l.server = &http.Server{ // a script may answer as late as it likes
		Handler:     http.HandlerFunc(l.serve),
		BaseContext: func(net.Listener) context.Context { return s.Whole },
		ErrorLog:    slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}

	s.Closers = append(s.Closers, l.stop)
	for _, prefix := range l.prefixes {
		p, err := parsePrefix(prefix)
		if err == nil {
			err = l.listen(s, prefix, p.port)
		}
		if err != nil {
			l.stop()
			return err
		}
	}

	return nil
}

// listen opens a port. Windows listens on all addresses, whatever the prefix's host is.
func (l *listener) listen(s *session.State, prefix, port string) error {
	if l.open[port] != nil {
		return nil
	}

	listen := s.System.Listen
	at, err := listen(s.Context, "tcp", ":"+port)
	switch {
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, addressInUse):
		return conflict(prefix)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, wsaeAccess):
		return object.Raise(listenerException, "Access is denied")
	case err != nil:
		return fmt.Errorf("listen on %s: %w", prefix, err)
	}

	l.open[port] = at
	go func() { _ = l.server.Serve(at) }() // it ends when the listener stops
	return nil
}

// Windows' errors for a port that is taken, and for one that may not be opened
// (https://learn.microsoft.com/en-us/windows/win32/winsock/windows-sockets-error-codes-2).
const (
	addressInUse = syscall.Errno(10048)
	wsaeAccess   = syscall.Errno(10013)
)

// patience is how long answers that are on their way hold up the end of a listener.
const patience = 2 * time.Second

// stop ends all requests that are not answered.
func (l *listener) stop() {
	if l.open == nil {
		return
	}

	close(l.ended)

	l.mu.Lock()
	for ex := range l.busy {
		ex.abort()
	}
	l.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), patience)
	defer cancel()

	if l.server.Shutdown(ctx) != nil {
		_ = l.server.Close() // what it reports, its clients see
	}

	l.open = nil
}

// serve hands a request to the script, and waits until the script has answered it.
func (l *listener) serve(w http.ResponseWriter, r *http.Request) {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)

	l.mu.Lock()
	requests, ended := l.requests, l.ended // of this start
	queue := l.queue

	hostFits, fits := false, false
	for _, prefix := range l.prefixes {
		if p, err := parsePrefix(prefix); err == nil {
			h, both := p.fits(r.Host, local, r.URL.Path)
			hostFits, fits = hostFits || h, fits || both
		}
	}
	l.mu.Unlock()

	switch {
	case !hostFits:
		refuseRequest(w, http.StatusBadRequest, "Bad Request", "Invalid Hostname")
		return
	case !fits:
		refuseRequest(w, http.StatusNotFound, "Not Found", "Not Found")
		return
	}

	select {
	case queue <- struct{}{}:
	default:
		refuseRequest(w, http.StatusServiceUnavailable, "Service Unavailable", "Service Unavailable")
		return
	}

	ex := newExchange(l, w, r, local)
	select {
	case requests <- ex:
		<-queue
	case <-r.Context().Done():
		<-queue
		return
	case <-ended:
		ex.abort()
		return
	}

	<-ex.done
	l.mu.Lock()
	delete(l.busy, ex)
	l.mu.Unlock()
}

// refuseRequest answers with a page, as http.sys answers what no listener takes.
func refuseRequest(w http.ResponseWriter, code int, title, text string) {
	w.Header().Set("Content-Type", "text/html; charset=us-ascii")
	w.Header().Set("Server", serverName)
	w.Header().Set("Connection", "close")
	w.WriteHeader(code)
	fmt.Fprintf(w, "<HTML><HEAD><TITLE>%s</TITLE></HEAD>\r\n<BODY><h2>%s</h2>\r\n<hr><p>HTTP Error %d.</p>\r\n"+
		"</BODY></HTML>\r\n", title, text, code)
}

const serverName = "Microsoft-HTTPAPI/2.0"

// context waits for the next request.
func (l *listener) context(s *session.State) (object.Value, error) {
	if err := l.usable(); err != nil {
		return nil, err
	}
	if l.open == nil || len(l.prefixes) == 0 {
		return nil, object.Raise(invalidOperation, "Please call the Start() method before calling this method.")
	}

	select {
	case ex := <-l.requests:
		l.mu.Lock()
		l.busy[ex] = true
		l.mu.Unlock()
		return &object.Instance{Of: contextClass(), V: ex}, nil
	case <-s.Context.Done():
		return nil, s.Context.Err()
	}
}

// listenerClass returns the class HttpListener.
func listenerClass() *object.Class {
	do := func(do func(c *object.Call, l *listener) (object.Value, error)) func(c *object.Call) (object.Value, error) {
		return func(c *object.Call) (object.Value, error) { return do(c, object.Own[*listener](c.On)) }
	}

	stop := do(func(_ *object.Call, l *listener) (object.Value, error) {
		if err := l.usable(); err != nil {
			return nil, err
		}
		l.stop()
		return nil, nil
	})

	end := do(func(_ *object.Call, l *listener) (object.Value, error) {
		l.stop()
		l.remove(func(string) bool { return true })
		l.closed = true
		return nil, nil
	})

	c := &object.Class{
		Name: listenerName,
		Fields: []object.Field{{
			Name: "IsSupported",
			Get: func(*session.State, object.Value) (object.Value, error) {
				return true, nil
			},
		}},
		Props: []object.Field{
			{
				Name: "IsListening",
				Get: func(_ *session.State, v object.Value) (object.Value, error) {
					return object.Own[*listener](v).open != nil, nil
				},
			},
			{
				Name: "Prefixes",
				Get: func(_ *session.State, v object.Value) (object.Value, error) {
					return &object.Instance{Of: prefixesClass(), V: object.Own[*listener](v)}, nil
				},
			},
			{
				Name: "IgnoreWriteExceptions",
				Get: func(_ *session.State, v object.Value) (object.Value, error) {
					return object.Own[*listener](v).ignores, nil
				},
				Set: func(of, v object.Value) error {
					object.Own[*listener](of).ignores = object.Truth(v)
					return nil
				},
			},
		},
		Methods: []object.Method{
			{
				Name: "Start",
				Do: do(func(c *object.Call, l *listener) (object.Value, error) {
					return nil, l.start(c.State)
				}),
			},
			{Name: "Stop", Do: stop},
			{Name: "Close", Do: end},
			{Name: "Abort", Do: end},
			{Name: "Dispose", Do: end},
			{
				Name: "GetContext",
				Do: do(func(c *object.Call, l *listener) (object.Value, error) {
					return l.context(c.State)
				}),
			},
		},
	}

	c.Make = &object.Method{Do: func(*object.Call) (object.Value, error) {
		return &object.Instance{Of: listenerClass(), V: &listener{}}, nil
	}}

	return c
}

// prefixesClass returns the list of a listener's prefixes.
func prefixesClass() *object.Class {
	return &object.Class{
		Name: "System.Net.HttpListenerPrefixCollection",
		Each: func(v any) []object.Value {
			all := []object.Value{}
			for _, p := range v.(*listener).prefixes {
				all = append(all, p)
			}
			return all
		},
		Props: []object.Field{{
			Name: "Count",
			Get: func(_ *session.State, v object.Value) (object.Value, error) {
				return int64(len(object.Own[*listener](v).prefixes)), nil
			},
		}},
		Methods: []object.Method{
			{
				Name:  "Add",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					return nil, object.Own[*listener](c.On).add(c.State, c.Text(0))
				},
			},
			{
				Name:  "Contains",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					return slices.Contains(object.Own[*listener](c.On).prefixes, c.Text(0)), nil
				},
			},
			{
				Name: "Clear",
				Do: func(c *object.Call) (object.Value, error) {
					object.Own[*listener](c.On).remove(func(string) bool { return true })
					return nil, nil
				},
			},
			{
				Name:  "Remove",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					l := object.Own[*listener](c.On)
					before := len(l.prefixes)
					l.remove(func(p string) bool { return p == c.Text(0) })
					return len(l.prefixes) < before, nil
				},
			},
		},
	}
}

// requestURL returns a request's whole URL.
func requestURL(r *http.Request) *url.URL {
	u := *r.URL
	u.Scheme, u.Host = "http", r.Host
	return &u
}
