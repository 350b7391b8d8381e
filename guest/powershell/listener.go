package powershell

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
	argumentException = "System.ArgumentException"
)

// queueLength is how many requests wait for GetContext before others are answered 503: http.sys' own.
const queueLength = 1000

// parsedPrefix is a prefix of URLs: http://host:port/path/.
type parsedPrefix struct{ host, port, path string }

func parsePrefix(s string) (parsedPrefix, error) {
	bad := func(message string) (parsedPrefix, error) {
		return parsedPrefix{}, raise(argumentException, message+"\nParameter name: uriPrefix")
	}
	low := lower(s)
	switch {
	case strings.HasPrefix(low, "https://"):
		return parsedPrefix{}, thrown("A listener for https is not part of Mullion's PowerShell.")
	case !strings.HasPrefix(low, "http://"):
		return bad("Only Uri prefixes starting with 'http://' or 'https://' are supported.")
	case !strings.HasSuffix(s, "/"):
		return bad("Only Uri prefixes ending in '/' are allowed.")
	}
	host, path, _ := strings.Cut(s[len("http://"):], "/")
	p := parsedPrefix{host: host, port: "80", path: "/" + path}
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
	return true, strings.HasPrefix(lower(path)+"/", lower(p.path))
}

func (l *listener) usable() error {
	if l.closed {
		return raise("System.ObjectDisposedException",
			"Cannot access a disposed object.\nObject name: '"+listenerName+"'.")
	}
	return nil
}

// add adds a prefix. A listener that listens takes it at once.
func (l *listener) add(f *frame, prefix string) error {
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
		if err := l.listen(f, prefix, p.port); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prefixes = append(l.prefixes, prefix)
	return nil
}

func conflict(prefix string) error {
	return raise(listenerException, "Failed to listen on prefix '"+prefix+
		"' because it conflicts with an existing registration on the machine.")
}

// remove removes prefixes; the ports stay open until the listener stops.
func (l *listener) remove(is func(prefix string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prefixes = slices.DeleteFunc(l.prefixes, is)
}

// start opens the ports of all prefixes.
func (l *listener) start(f *frame) error {
	if err := l.usable(); err != nil || l.open != nil {
		return err
	}
	l.mu.Lock()
	l.open, l.busy = map[string]net.Listener{}, map[*exchange]bool{}
	l.requests, l.ended = make(chan *exchange), make(chan struct{})
	l.queue, l.ctx = make(chan struct{}, queueLength), f.in.ctx
	l.mu.Unlock()
	l.server = &http.Server{ // a script may answer as late as it likes
		Handler:     http.HandlerFunc(l.serve),
		BaseContext: func(net.Listener) context.Context { return f.in.ctx },
		ErrorLog:    slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	f.in.closers = append(f.in.closers, l.stop)
	for _, prefix := range l.prefixes {
		p, err := parsePrefix(prefix)
		if err == nil {
			err = l.listen(f, prefix, p.port)
		}
		if err != nil {
			l.stop()
			return err
		}
	}
	return nil
}

// listen opens a port. Windows listens on all addresses, whatever the prefix's host is.
func (l *listener) listen(f *frame, prefix, port string) error {
	if l.open[port] != nil {
		return nil
	}
	listen := f.in.session.system().listen
	at, err := listen(f.in.ctx, "tcp", ":"+port)
	switch {
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, wsaeAddressInUse):
		return conflict(prefix)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, wsaeAccess):
		return raise(listenerException, "Access is denied")
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
	wsaeAddressInUse = syscall.Errno(10048)
	wsaeAccess       = syscall.Errno(10013)
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
	hostFits, fits := false, false
	l.mu.Lock()
	requests, queue, ended := l.requests, l.queue, l.ended // of this start
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

// refuseRequest is the page with which http.sys answers what no listener takes.
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
func (l *listener) context(f *frame) (value, error) {
	if err := l.usable(); err != nil {
		return nil, err
	}
	if l.open == nil || len(l.prefixes) == 0 {
		return nil, raise(invalidOperation, "Please call the Start() method before calling this method.")
	}
	select {
	case ex := <-l.requests:
		l.mu.Lock()
		l.busy[ex] = true
		l.mu.Unlock()
		return &instance{contextClass(), ex}, nil
	case <-f.in.ctx.Done():
		return nil, f.in.ctx.Err()
	}
}

// listenerClass is HttpListener.
func listenerClass() *class {
	do := func(do func(c *dotCall, l *listener) (value, error)) func(c *dotCall) (value, error) {
		return func(c *dotCall) (value, error) { return do(c, own[*listener](c.on)) }
	}
	stop := do(func(_ *dotCall, l *listener) (value, error) {
		if err := l.usable(); err != nil {
			return nil, err
		}
		l.stop()
		return nil, nil
	})
	end := do(func(_ *dotCall, l *listener) (value, error) {
		l.stop()
		l.remove(func(string) bool { return true })
		l.closed = true
		return nil, nil
	})
	c := &class{
		name:   listenerName,
		fields: []field{{name: "IsSupported", get: func(*frame, value) (value, error) { return true, nil }}},
		props: []field{
			{name: "IsListening", get: func(_ *frame, v value) (value, error) { return own[*listener](v).open != nil, nil }},
			{name: "Prefixes", get: func(_ *frame, v value) (value, error) {
				return &instance{prefixesClass(), own[*listener](v)}, nil
			}},
			{
				name: "IgnoreWriteExceptions",
				get:  func(_ *frame, v value) (value, error) { return own[*listener](v).ignores, nil },
				set: func(of, v value) error {
					own[*listener](of).ignores = truth(v)
					return nil
				},
			},
		},
		methods: []routine{
			{name: "Start", do: do(func(c *dotCall, l *listener) (value, error) { return nil, l.start(c.f) })},
			{name: "Stop", do: stop},
			{name: "Close", do: end},
			{name: "Abort", do: end},
			{name: "Dispose", do: end},
			{name: "GetContext", do: do(func(c *dotCall, l *listener) (value, error) { return l.context(c.f) })},
		},
	}
	c.make = &routine{do: func(*dotCall) (value, error) { return &instance{listenerClass(), &listener{}}, nil }}
	return c
}

// prefixesClass is the list of a listener's prefixes.
func prefixesClass() *class {
	return &class{
		name: "System.Net.HttpListenerPrefixCollection",
		each: func(v any) []value {
			all := []value{}
			for _, p := range v.(*listener).prefixes {
				all = append(all, p)
			}
			return all
		},
		props: []field{{name: "Count", get: func(_ *frame, v value) (value, error) {
			return int64(len(own[*listener](v).prefixes)), nil
		}}},
		methods: []routine{
			{name: "Add", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				return nil, own[*listener](c.on).add(c.f, c.text(0))
			}},
			{name: "Contains", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				return slices.Contains(own[*listener](c.on).prefixes, c.text(0)), nil
			}},
			{name: "Clear", do: func(c *dotCall) (value, error) {
				own[*listener](c.on).remove(func(string) bool { return true })
				return nil, nil
			}},
			{name: "Remove", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				l := own[*listener](c.on)
				before := len(l.prefixes)
				l.remove(func(p string) bool { return p == c.text(0) })
				return len(l.prefixes) < before, nil
			}},
		},
	}
}

// requestURL is a request's whole URL.
func requestURL(r *http.Request) *url.URL {
	u := *r.URL
	u.Scheme, u.Host = "http", r.Host
	return &u
}
