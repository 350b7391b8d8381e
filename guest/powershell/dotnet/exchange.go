package dotnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"mullion.dev/mullion/guest/powershell/address"
	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/stream"
)

// exchange is a request and its response, an HttpListenerContext
// (https://learn.microsoft.com/en-us/dotnet/api/system.net.httplistenerresponse).
type exchange struct {
	listener *listener
	r        *http.Request
	local    net.Addr
	header   *library.Pairs // of the response
	code     int
	length   int64 // of the response's body, -1 before it is set
	chunked  bool
	alone    bool // the connection ends after it
	encoding object.Value
	body     *stream.Stream // of the request

	mu      sync.Mutex
	w       http.ResponseWriter
	sent    bool // the header is on its way
	written int64
	over    bool
	done    chan struct{} // closed when it is over: then w may not be used
}

func newExchange(l *listener, w http.ResponseWriter, r *http.Request, local net.Addr) *exchange {
	return &exchange{
		listener: l,
		r:        r,
		local:    local,
		w:        w,
		header:   &library.Pairs{Response: true},
		code:     http.StatusOK,
		length:   -1,
		body:     &stream.Stream{R: r.Body},
		done:     make(chan struct{}),
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

// disposed returns the error of a response that is over, nil for one that is not.
func (ex *exchange) disposed() error {
	if ex.over {
		return object.Raise("System.ObjectDisposedException",
			"Cannot access a disposed object.\nObject name: 'System.Net.HttpListenerResponse'.")
	}
	return nil
}

// unsent returns the error of setting what has been sent already.
func (ex *exchange) unsent() error {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if err := ex.disposed(); err != nil {
		return err
	}
	if ex.sent {
		return object.Raise(invalidOperation,
			"This operation cannot be performed after the response has been submitted.")
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
	for _, p := range ex.header.All {
		h.Add(p.Name, p.Value)
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
		return object.Raise("System.ObjectDisposedException",
			"Cannot access a disposed object.\nObject name: 'System.Net.HttpResponseStream'.")
	}

	if ex.length >= 0 && ex.written+int64(len(data)) > ex.length {
		return object.Raise("System.Net.ProtocolViolationException",
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
		return object.Raise(listenerException, "The specified network name is no longer available")
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
			return object.Raise(invalidOperation, "Cannot close stream until all bytes are written.")
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
func ofExchange(name string, get func(ex *exchange) object.Value) object.Field {
	return object.Field{
		Name: name,
		Get: func(_ *session.State, of object.Value) (object.Value, error) {
			return get(object.Own[*exchange](of)), nil
		},
	}
}

func contextClass() *object.Class {
	return &object.Class{
		Name: "System.Net.HttpListenerContext",
		Props: []object.Field{
			ofExchange("Request", func(ex *exchange) object.Value {
				return &object.Instance{Of: requestClass(), V: ex}
			}),
			ofExchange("Response", func(ex *exchange) object.Value {
				return &object.Instance{Of: responseClass(), V: ex}
			}),
			ofExchange("User", func(*exchange) object.Value { return nil }),
		},
	}
}

// requestClass returns the class HttpListenerRequest
// (https://learn.microsoft.com/en-us/dotnet/api/system.net.httplistenerrequest).
func requestClass() *object.Class {
	header := func(name string) func(ex *exchange) object.Value {
		return func(ex *exchange) object.Value {
			if _, there := ex.r.Header[name]; !there {
				return nil
			}
			return ex.r.Header.Get(name)
		}
	}

	return &object.Class{
		Name: "System.Net.HttpListenerRequest",
		Props: []object.Field{
			ofExchange("HttpMethod", func(ex *exchange) object.Value { return ex.r.Method }),
			ofExchange("Url", func(ex *exchange) object.Value {
				return &object.Instance{Of: address.URIClass(), V: requestURL(ex.r)}
			}),
			ofExchange("RawUrl", func(ex *exchange) object.Value { return ex.r.RequestURI }),
			ofExchange("Headers", func(ex *exchange) object.Value {
				return &object.Instance{Of: library.HeadersClass(), V: requestHeaders(ex.r)}
			}),
			ofExchange("QueryString", func(ex *exchange) object.Value {
				return &object.Instance{Of: library.PairsClass(), V: library.QueryPairs(ex.r.URL.RawQuery)}
			}),
			ofExchange("RemoteEndPoint", func(ex *exchange) object.Value { return endPoint(ex.r.RemoteAddr) }),
			ofExchange("LocalEndPoint", func(ex *exchange) object.Value { return endPoint(fmt.Sprint(ex.local)) }),
			ofExchange("UserHostAddress",
				func(ex *exchange) object.Value { return object.Text(endPoint(fmt.Sprint(ex.local))) }),
			ofExchange("UserHostName", func(ex *exchange) object.Value { return ex.r.Host }),
			ofExchange("UserAgent", header("User-Agent")),
			ofExchange("ContentType", header("Content-Type")),
			ofExchange("ContentLength64", func(ex *exchange) object.Value { return ex.r.ContentLength }),
			ofExchange("ContentEncoding", func(ex *exchange) object.Value {
				return stream.EncodingOfType(ex.r.Header.Get("Content-Type"))
			}),
			ofExchange("HasEntityBody", func(ex *exchange) object.Value { return ex.r.ContentLength != 0 }),
			ofExchange("InputStream",
				func(ex *exchange) object.Value { return &object.Instance{Of: stream.Class(), V: ex.body} }),
			ofExchange("IsSecureConnection", func(*exchange) object.Value { return false }),
			ofExchange("IsAuthenticated", func(*exchange) object.Value { return false }),
			ofExchange("IsLocal", func(ex *exchange) object.Value {
				there, err := netip.ParseAddrPort(ex.r.RemoteAddr)
				here, other := netip.ParseAddrPort(fmt.Sprint(ex.local))
				return err == nil && other == nil && there.Addr().Unmap() == here.Addr().Unmap()
			}),
			ofExchange("KeepAlive", func(ex *exchange) object.Value { return !ex.r.Close }),
		},
	}
}

// endPoint returns an address and a port as an object.
func endPoint(s string) object.Value {
	at, err := netip.ParseAddrPort(s)
	if err != nil {
		return nil
	}
	return &object.Instance{Of: endPointClass(), V: netip.AddrPortFrom(at.Addr().Unmap(), at.Port())}
}

func endPointClass() *object.Class {
	of := func(name string, get func(at netip.AddrPort) object.Value) object.Field {
		return object.Field{
			Name: name,
			Get: func(_ *session.State, v object.Value) (object.Value, error) {
				return get(object.Own[netip.AddrPort](v)), nil
			},
		}
	}

	return &object.Class{
		Name: "System.Net.IPEndPoint",
		Props: []object.Field{
			of("AddressFamily", func(at netip.AddrPort) object.Value { return address.FamilyOf(at.Addr()) }),
			of("Address", func(at netip.AddrPort) object.Value {
				return &object.Instance{Of: address.Class(), V: at.Addr()}
			}),
			of("Port", func(at netip.AddrPort) object.Value { return int64(at.Port()) }),
		},
		Text: func(v any) string { return fmt.Sprint(v) },
		Same: func(v any) string { return fmt.Sprint(v) },
	}
}

// settable makes a property of a response that can be set until the header is sent.
func settable(name string, get func(ex *exchange) object.Value,
	set func(ex *exchange, v object.Value) error,
) object.Field {
	f := ofExchange(name, get)
	f.Set = func(of, v object.Value) error {
		ex := object.Own[*exchange](of)
		if err := ex.unsent(); err != nil {
			return err
		}
		return set(ex, v)
	}
	return f
}

// responseProperties returns the properties of HttpListenerResponse.
func responseProperties() []object.Field {
	header := func(property, name string) object.Field {
		return settable(property, func(ex *exchange) object.Value { return ex.header.Get(name) },
			func(ex *exchange, v object.Value) error { return ex.header.Put(name, object.Text(v)) })
	}

	return []object.Field{
		settable("StatusCode", func(ex *exchange) object.Value { return int64(ex.code) },
			func(ex *exchange, v object.Value) error {
				n, err := object.Integer(v)
				if err == nil && (n < 100 || n > 999) {
					return object.Raise("System.Net.ProtocolViolationException",
						"The specified status code is not a valid HTTP status code.")
				}
				ex.code = int(n)
				return err
			}),
		settable("StatusDescription", func(ex *exchange) object.Value { return http.StatusText(ex.code) },
			func(ex *exchange, v object.Value) error {
				if object.Text(v) != http.StatusText(ex.code) {
					return object.Thrown("A StatusDescription other than the status' own is not part of Mullion's PowerShell.")
				}
				return nil
			}),
		settable("ContentLength64", func(ex *exchange) object.Value { return max(ex.length, 0) },
			func(ex *exchange, v object.Value) error {
				n, err := object.Integer(v)
				if err == nil && n < 0 {
					return object.Raise("System.ArgumentOutOfRangeException",
						"The value must be greater than or equal to zero.\nParameter name: value")
				}
				ex.length = n
				return err
			}),
		header("ContentType", "Content-Type"),
		header("RedirectLocation", "Location"),
		settable("SendChunked", func(ex *exchange) object.Value { return ex.chunked },
			func(ex *exchange, v object.Value) error {
				ex.chunked = object.Truth(v)
				return nil
			}),
		settable("KeepAlive", func(ex *exchange) object.Value { return !ex.alone },
			func(ex *exchange, v object.Value) error {
				ex.alone = !object.Truth(v)
				return nil
			}),
		settable("ContentEncoding", func(ex *exchange) object.Value { return ex.encoding },
			func(ex *exchange, v object.Value) error {
				ex.encoding = v
				return nil
			}),
		ofExchange("Headers", func(ex *exchange) object.Value {
			return &object.Instance{Of: library.HeadersClass(), V: ex.header}
		}),
		ofExchange("OutputStream", func(ex *exchange) object.Value {
			return &object.Instance{Of: stream.Class(), V: &stream.Stream{Write: ex.write, Close: ex.finish}}
		}),
	}
}

func responseClass() *object.Class {
	do := func(do func(ex *exchange, c *object.Call) error) func(c *object.Call) (object.Value, error) {
		return func(c *object.Call) (object.Value, error) { return nil, do(object.Own[*exchange](c.On), c) }
	}

	add := func(ex *exchange, c *object.Call) error {
		if err := ex.unsent(); err != nil {
			return err
		}
		return ex.header.Put(c.Text(0), c.Text(1))
	}

	return &object.Class{
		Name:  "System.Net.HttpListenerResponse",
		Props: responseProperties(),
		Methods: []object.Method{
			{Name: "AddHeader", Least: 2, Most: 2, Do: do(add)},
			{
				Name:  "AppendHeader",
				Least: 2,
				Most:  2,
				Do: do(func(ex *exchange, c *object.Call) error {
					if err := ex.unsent(); err != nil {
						return err
					}
					return ex.header.Add(c.Text(0), c.Text(1))
				}),
			},
			{
				Name:  "Redirect",
				Least: 1,
				Most:  1,
				Do: do(func(ex *exchange, c *object.Call) error {
					if err := ex.unsent(); err != nil {
						return err
					}
					ex.code = http.StatusFound
					return ex.header.Put("Location", c.Text(0))
				}),
			},
			{
				Name: "Abort",
				Do: do(func(ex *exchange, _ *object.Call) error {
					ex.abort()
					return nil
				}),
			},
			{Name: "Dispose", Do: do(func(ex *exchange, _ *object.Call) error { return ex.finish() })},
			{
				Name: "Close",
				Most: 2,
				Do: do(func(ex *exchange, c *object.Call) error {
					if len(c.Args) == 0 {
						return ex.finish()
					}

					data, err := object.BytesOf(c.Arg(0))
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
				}),
			},
		},
	}
}

// requestHeaders returns a request's headers, as its client sent them.
func requestHeaders(r *http.Request) *library.Pairs {
	p := &library.Pairs{Fixed: true}
	p.All = append(p.All, library.Pair{Name: "Host", Value: r.Host})
	for _, name := range library.SortedNames(r.Header) {
		p.All = append(p.All, library.Pair{Name: name, Value: strings.Join(r.Header[name], ",")})
	}
	return p
}
