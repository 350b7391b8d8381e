package powershell

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
)

// exchange is a request and its response, an HttpListenerContext
// (https://learn.microsoft.com/en-us/dotnet/api/system.net.httplistenerresponse).
type exchange struct {
	listener *listener
	r        *http.Request
	local    net.Addr
	header   *pairs // of the response
	code     int
	length   int64 // of the response's body, -1 before it is set
	chunked  bool
	alone    bool // the connection ends after it
	encoding value
	body     *stream // of the request

	mu      sync.Mutex
	w       http.ResponseWriter
	sent    bool // the header is on its way
	written int64
	over    bool
	done    chan struct{} // closed when it is over: then w may not be used
}

func newExchange(l *listener, w http.ResponseWriter, r *http.Request, local net.Addr) *exchange {
	return &exchange{
		listener: l, r: r, local: local, w: w,
		header: &pairs{response: true}, code: http.StatusOK, length: -1,
		body: &stream{r: r.Body}, done: make(chan struct{}),
	}
}

// end ends the exchange, answered or not.
func (ex *exchange) end() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if !ex.over {
		ex.over = true
		close(ex.done)
	}
}

// disposed is the error of a response that is over.
func (ex *exchange) disposed() error {
	if ex.over {
		return raise("System.ObjectDisposedException",
			"Cannot access a disposed object.\nObject name: 'System.Net.HttpListenerResponse'.")
	}
	return nil
}

// unsent is the error of setting what has been sent already.
func (ex *exchange) unsent() error {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if err := ex.disposed(); err != nil {
		return err
	}
	if ex.sent {
		return raise(invalidOperation, "This operation cannot be performed after the response has been submitted.")
	}
	return nil
}

// send writes the header, once.
func (ex *exchange) send() {
	if ex.sent {
		return
	}
	ex.sent = true
	h := ex.w.Header()
	h["Content-Type"] = nil // or net/http guesses one
	h.Set("Server", serverName)
	for _, p := range ex.header.all {
		h.Add(p.name, p.value)
	}
	if ex.alone {
		h.Set("Connection", "close")
	}
	if ex.length >= 0 && !ex.chunked {
		h.Set("Content-Length", fmt.Sprint(ex.length))
	}
	ex.w.WriteHeader(ex.code)
}

// write writes a part of the body.
func (ex *exchange) write(data []byte) error {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.over {
		return raise("System.ObjectDisposedException",
			"Cannot access a disposed object.\nObject name: 'System.Net.HttpResponseStream'.")
	}
	if ex.length >= 0 && ex.written+int64(len(data)) > ex.length {
		return raise("System.Net.ProtocolViolationException",
			"Bytes to be written to the stream exceed the Content-Length bytes size specified.")
	}
	ex.send()
	_, err := ex.w.Write(data)
	if err == nil {
		ex.written += int64(len(data))
		err = http.NewResponseController(ex.w).Flush()
	}
	switch {
	case err == nil, ex.listener.ignores, errors.Is(err, http.ErrBodyNotAllowed):
		return nil
	case errors.Is(ex.r.Context().Err(), context.Canceled), isNetwork(err):
		return raise(listenerException, "The specified network name is no longer available")
	}
	return err
}

func isNetwork(err error) bool {
	_, is := errors.AsType[net.Error](err)
	return is
}

// finish sends what is not sent, and ends the exchange.
func (ex *exchange) finish() error {
	ex.mu.Lock()
	if !ex.over {
		if ex.written < ex.length && ex.r.Method != http.MethodHead && ex.r.Context().Err() == nil {
			ex.mu.Unlock()
			return raise(invalidOperation, "Cannot close stream until all bytes are written.")
		}
		if !ex.sent && ex.r.Method != http.MethodHead {
			ex.length = 0
		}
		ex.send()
	}
	ex.mu.Unlock()
	ex.end()
	return nil
}

// abort ends the connection without an answer.
func (ex *exchange) abort() {
	ex.mu.Lock()
	if !ex.over {
		if conn, _, err := http.NewResponseController(ex.w).Hijack(); err == nil {
			_ = conn.Close() // nothing more is done with it
		}
	}
	ex.mu.Unlock()
	ex.end()
}

// ofExchange makes a property that reads an exchange.
func ofExchange(name string, get func(ex *exchange) value) field {
	return field{name: name, get: func(_ *frame, of value) (value, error) { return get(own[*exchange](of)), nil }}
}

func contextClass() *class {
	return &class{
		name: "System.Net.HttpListenerContext",
		props: []field{
			ofExchange("Request", func(ex *exchange) value { return &instance{requestClass(), ex} }),
			ofExchange("Response", func(ex *exchange) value { return &instance{responseClass(), ex} }),
			ofExchange("User", func(*exchange) value { return nil }),
		},
	}
}

// requestClass is HttpListenerRequest (https://learn.microsoft.com/en-us/dotnet/api/system.net.httplistenerrequest).
func requestClass() *class {
	header := func(name string) func(ex *exchange) value {
		return func(ex *exchange) value {
			if _, there := ex.r.Header[name]; !there {
				return nil
			}
			return ex.r.Header.Get(name)
		}
	}
	return &class{
		name: "System.Net.HttpListenerRequest",
		props: []field{
			ofExchange("HttpMethod", func(ex *exchange) value { return ex.r.Method }),
			ofExchange("Url", func(ex *exchange) value { return &instance{uriClass(), requestURL(ex.r)} }),
			ofExchange("RawUrl", func(ex *exchange) value { return ex.r.RequestURI }),
			ofExchange("Headers", func(ex *exchange) value { return &instance{headersClass(), requestHeaders(ex.r)} }),
			ofExchange("QueryString", func(ex *exchange) value {
				return &instance{pairsClass(), queryPairs(ex.r.URL.RawQuery)}
			}),
			ofExchange("RemoteEndPoint", func(ex *exchange) value { return endPoint(ex.r.RemoteAddr) }),
			ofExchange("LocalEndPoint", func(ex *exchange) value { return endPoint(fmt.Sprint(ex.local)) }),
			ofExchange("UserHostAddress", func(ex *exchange) value { return text(endPoint(fmt.Sprint(ex.local))) }),
			ofExchange("UserHostName", func(ex *exchange) value { return ex.r.Host }),
			ofExchange("UserAgent", header("User-Agent")),
			ofExchange("ContentType", header("Content-Type")),
			ofExchange("ContentLength64", func(ex *exchange) value { return ex.r.ContentLength }),
			ofExchange("ContentEncoding", func(ex *exchange) value {
				return encodingOfType(ex.r.Header.Get("Content-Type"))
			}),
			ofExchange("HasEntityBody", func(ex *exchange) value { return ex.r.ContentLength != 0 }),
			ofExchange("InputStream", func(ex *exchange) value { return &instance{streamClass(), ex.body} }),
			ofExchange("IsSecureConnection", func(*exchange) value { return false }),
			ofExchange("IsAuthenticated", func(*exchange) value { return false }),
			ofExchange("IsLocal", func(ex *exchange) value {
				there, err := netip.ParseAddrPort(ex.r.RemoteAddr)
				here, other := netip.ParseAddrPort(fmt.Sprint(ex.local))
				return err == nil && other == nil && there.Addr().Unmap() == here.Addr().Unmap()
			}),
			ofExchange("KeepAlive", func(ex *exchange) value { return !ex.r.Close }),
		},
	}
}

// endPoint is an address and a port as an object.
func endPoint(s string) value {
	at, err := netip.ParseAddrPort(s)
	if err != nil {
		return nil
	}
	return &instance{endPointClass(), netip.AddrPortFrom(at.Addr().Unmap(), at.Port())}
}

func endPointClass() *class {
	of := func(name string, get func(at netip.AddrPort) value) field {
		return field{name: name, get: func(_ *frame, v value) (value, error) {
			return get(own[netip.AddrPort](v)), nil
		}}
	}
	return &class{
		name: "System.Net.IPEndPoint",
		props: []field{
			of("AddressFamily", func(at netip.AddrPort) value { return familyOf(at.Addr()) }),
			of("Address", func(at netip.AddrPort) value { return &instance{addressClass(), at.Addr()} }),
			of("Port", func(at netip.AddrPort) value { return int64(at.Port()) }),
		},
		text: func(v any) string { return fmt.Sprint(v) },
		same: func(v any) string { return fmt.Sprint(v) },
	}
}

// settable makes a property of a response that can be set until the header is sent.
func settable(name string, get func(ex *exchange) value, set func(ex *exchange, v value) error) field {
	f := ofExchange(name, get)
	f.set = func(of, v value) error {
		ex := own[*exchange](of)
		if err := ex.unsent(); err != nil {
			return err
		}
		return set(ex, v)
	}
	return f
}

// responseProperties are those of HttpListenerResponse.
func responseProperties() []field {
	header := func(property, name string) field {
		return settable(property, func(ex *exchange) value { return ex.header.get(name) },
			func(ex *exchange, v value) error { return ex.header.put(name, text(v)) })
	}
	return []field{
		settable("StatusCode", func(ex *exchange) value { return int64(ex.code) }, func(ex *exchange, v value) error {
			n, err := integer(v)
			if err == nil && (n < 100 || n > 999) {
				return raise("System.Net.ProtocolViolationException",
					"The specified status code is not a valid HTTP status code.")
			}
			ex.code = int(n)
			return err
		}),
		settable("StatusDescription", func(ex *exchange) value { return http.StatusText(ex.code) },
			func(ex *exchange, v value) error {
				if text(v) != http.StatusText(ex.code) {
					return thrown("A StatusDescription other than the status' own is not part of Mullion's PowerShell.")
				}
				return nil
			}),
		settable("ContentLength64", func(ex *exchange) value { return max(ex.length, 0) },
			func(ex *exchange, v value) error {
				n, err := integer(v)
				if err == nil && n < 0 {
					return raise("System.ArgumentOutOfRangeException",
						"The value must be greater than or equal to zero.\nParameter name: value")
				}
				ex.length = n
				return err
			}),
		header("ContentType", "Content-Type"),
		header("RedirectLocation", "Location"),
		settable("SendChunked", func(ex *exchange) value { return ex.chunked }, func(ex *exchange, v value) error {
			ex.chunked = truth(v)
			return nil
		}),
		settable("KeepAlive", func(ex *exchange) value { return !ex.alone }, func(ex *exchange, v value) error {
			ex.alone = !truth(v)
			return nil
		}),
		settable("ContentEncoding", func(ex *exchange) value { return ex.encoding }, func(ex *exchange, v value) error {
			ex.encoding = v
			return nil
		}),
		ofExchange("Headers", func(ex *exchange) value { return &instance{headersClass(), ex.header} }),
		ofExchange("OutputStream", func(ex *exchange) value {
			return &instance{streamClass(), &stream{write: ex.write, close: ex.finish}}
		}),
	}
}

func responseClass() *class {
	do := func(do func(ex *exchange, c *dotCall) error) func(c *dotCall) (value, error) {
		return func(c *dotCall) (value, error) { return nil, do(own[*exchange](c.on), c) }
	}
	add := func(ex *exchange, c *dotCall) error {
		if err := ex.unsent(); err != nil {
			return err
		}
		return ex.header.put(c.text(0), c.text(1))
	}
	return &class{
		name:  "System.Net.HttpListenerResponse",
		props: responseProperties(),
		methods: []routine{
			{name: "AddHeader", least: 2, most: 2, do: do(add)},
			{name: "AppendHeader", least: 2, most: 2, do: do(func(ex *exchange, c *dotCall) error {
				if err := ex.unsent(); err != nil {
					return err
				}
				return ex.header.add(c.text(0), c.text(1))
			})},
			{name: "Redirect", least: 1, most: 1, do: do(func(ex *exchange, c *dotCall) error {
				if err := ex.unsent(); err != nil {
					return err
				}
				ex.code = http.StatusFound
				return ex.header.put("Location", c.text(0))
			})},
			{name: "Abort", do: do(func(ex *exchange, _ *dotCall) error {
				ex.abort()
				return nil
			})},
			{name: "Dispose", do: do(func(ex *exchange, _ *dotCall) error { return ex.finish() })},
			{name: "Close", most: 2, do: do(func(ex *exchange, c *dotCall) error {
				if len(c.args) == 0 {
					return ex.finish()
				}
				data, err := bytesOf(c.arg(0))
				if err != nil {
					return err
				}
				if ex.unsent() == nil && !ex.chunked {
					ex.length = int64(len(data))
				}
				if err := ex.write(data); err != nil {
					return err
				}
				return ex.finish()
			})},
		},
	}
}

// requestHeaders are a request's headers, as its client sent them.
func requestHeaders(r *http.Request) *pairs {
	p := &pairs{fixed: true}
	p.all = append(p.all, pair{"Host", r.Host})
	for _, name := range sortedNames(r.Header) {
		p.all = append(p.all, pair{name, strings.Join(r.Header[name], ",")})
	}
	return p
}
