package powershell

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// redirections is how many redirections Invoke-WebRequest follows if it is not told.
const redirections = 5

const webException = "System.Net.WebException"

// web makes the request of Invoke-WebRequest or Invoke-RestMethod, and returns the response and its body.
func (c *call) web() (*http.Response, []byte, error) {
	seconds, err := floating(c.values["timeoutsec"])
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(c.f.in.ctx)
	if seconds > 0 {
		ctx, cancel = context.WithTimeout(c.f.in.ctx, time.Duration(seconds*float64(time.Second)))
	}
	defer cancel()
	r, err := c.webRequest(ctx)
	if err != nil {
		return nil, nil, err
	}
	most := int64(redirections)
	if v, given := c.values["maximumredirection"]; given {
		if most, err = integer(v); err != nil {
			return nil, nil, err
		}
	}
	return fetch(ctx, r, most)
}

// webError is the error of a request in .NET's words.
func webError(ctx context.Context, err error, u *url.URL) error {
	_, unknown := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return raise(webException, "The operation has timed out.")
	case ctx.Err() != nil:
		return ctx.Err()
	case unknown:
		return raise(webException, "The remote name could not be resolved: '"+u.Hostname()+"'")
	case isNetwork(err):
		return raise(webException, "Unable to connect to the remote server")
	}
	return raise(webException, "The underlying connection was closed: "+err.Error()+".")
}

// webRequest is the request that the parameters describe.
func (c *call) webRequest(ctx context.Context) (*http.Request, error) {
	address := c.text("uri")
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, thrown("%s : the URL %q is not part of Mullion's PowerShell.", c.name, address)
	}
	method := strings.ToUpper(c.text("method"))
	if method == "" || method == "DEFAULT" {
		method = http.MethodGet
	}
	body, contentType := c.webBody(u, method)
	r, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.20348.1")
	if v, given := c.values["useragent"]; given {
		r.Header.Set("User-Agent", text(v))
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	headers, isTable := c.values["headers"].(*table)
	if _, given := c.values["headers"]; given && !isTable {
		return nil, thrown("%s : -Headers that is no hash table is not part of Mullion's PowerShell.", c.name)
	}
	if isTable {
		for _, name := range headers.keys {
			if strings.EqualFold(text(name), "host") {
				r.Host = text(headers.get(name))
			}
			r.Header.Set(text(name), text(headers.get(name)))
		}
	}
	return r, nil
}

// webBody is the body of a request and its type. A hash table is a form, of which GET makes a query.
func (c *call) webBody(u *url.URL, method string) (body, contentType string) {
	contentType = c.text("contenttype")
	form, isForm := c.values["body"].(*table)
	if !isForm {
		e := encodingOf(contentType)
		if body = string(e.encode(c.text("body"))); body != "" && contentType == "" && method == http.MethodPost {
			contentType = "application/x-www-form-urlencoded"
		}
		return body, contentType
	}
	var parts []string
	for _, k := range form.keys {
		parts = append(parts, url.QueryEscape(text(k))+"="+url.QueryEscape(text(form.get(k))))
	}
	joined := strings.Join(parts, "&")
	if method == http.MethodGet {
		if u.RawQuery != "" && joined != "" {
			joined = u.RawQuery + "&" + joined
		}
		u.RawQuery = joined
		return "", contentType
	}
	if contentType == "" {
		contentType = "application/x-www-form-urlencoded"
	}
	return joined, contentType
}

// encodingOf is the encoding that a Content-Type names, or ISO 8859-1, which Windows PowerShell takes for one that
// names none.
func encodingOf(contentType string) *encoding {
	if e := charsetOf(contentType); e != nil {
		return e
	}
	return encodingNamed("iso-8859-1")
}

// headerTable is a response's headers as a hash table.
func headerTable(h http.Header) *table {
	t := newTable(true)
	for _, name := range sortedNames(h) {
		t.set(name, strings.Join(h[name], ","))
	}
	return t
}

func invokeWebRequest(c *call) error {
	answer, body, err := c.web()
	if err != nil {
		return err
	}
	if answer.StatusCode/100 == 3 && answer.Header.Get("Location") != "" {
		if err := c.fail(itsWords("The maximum redirection count has been exceeded. To increase the number of " +
			"redirections allowed, supply a higher value to the -MaximumRedirection parameter.")); err != nil {
			return err
		}
	}
	if done, err := c.outToFile(body); done {
		return err
	}
	contentType := answer.Header.Get("Content-Type")
	content := value(encodingOf(contentType).decode(body))
	if !textual(contentType) {
		content = byteList(body)
	}
	return c.out.put(newObject("web response").set("StatusCode", int64(answer.StatusCode)).
		set("StatusDescription", http.StatusText(answer.StatusCode)).set("Content", content).
		set("Headers", headerTable(answer.Header)).set("RawContentLength", int64(len(body))))
}

// outToFile writes a body to -OutFile, if that is given.
func (c *call) outToFile(body []byte) (done bool, err error) {
	name := c.text("outfile")
	if name == "" {
		return false, nil
	}
	if err := c.knownPath(name); err != nil {
		return true, err
	}
	if err := os.WriteFile(c.f.in.path(name), body, 0o644); err != nil {
		return true, c.fail(because(name, err))
	}
	return true, nil
}

// textual reports whether a body of a type is text.
func textual(contentType string) bool {
	kind, _, _ := strings.Cut(lower(contentType), ";")
	for _, part := range []string{"text/", "json", "xml", "javascript", "x-www-form-urlencoded"} {
		if strings.Contains(kind, part) {
			return true
		}
	}
	return kind == ""
}

// invokeRestMethod outputs what a response's JSON holds, or its text.
func invokeRestMethod(c *call) error {
	answer, body, err := c.web()
	if err != nil {
		return err
	}
	if done, err := c.outToFile(body); done {
		return err
	}
	contentType := lower(answer.Header.Get("Content-Type"))
	content := encodingOf(contentType).decode(body)
	if strings.Contains(contentType, "xml") {
		return thrown("%s : an answer of XML is not part of Mullion's PowerShell.", c.name)
	}
	v, err := fromJSON(content)
	if err != nil {
		if content == "" {
			return nil
		}
		return c.out.put(content)
	}
	return c.out.put(v)
}

// testNetConnection opens a TCP connection, and says whether that went well.
func testNetConnection(c *call) error {
	host := c.text("computername")
	port, err := integer(c.values["port"])
	if err != nil {
		return err
	}
	const patience = 21 * time.Second // Windows' own time for a connection
	ctx, cancel := context.WithTimeout(c.f.in.ctx, patience)
	defer cancel()
	o := newObject("connection").set("ComputerName", host)
	remote, source := host, ""
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, fmt.Sprint(port)))
	if err == nil {
		remote, _, _ = net.SplitHostPort(conn.RemoteAddr().String())
		source, _, _ = net.SplitHostPort(conn.LocalAddr().String())
		_ = conn.Close() // it has shown what it should
	}
	if c.f.in.ctx.Err() != nil {
		return c.f.in.ctx.Err()
	}
	if err != nil {
		message := fmt.Sprintf("TCP connect to (%s : %d) failed", remote, port)
		if _, unknown := errors.AsType[*net.DNSError](err); unknown {
			message = "Name resolution of " + host + " failed"
		}
		if err := c.warn(message); err != nil {
			return err
		}
	}
	if lower(c.text("informationlevel")) == "quiet" {
		return c.out.put(err == nil)
	}
	return c.out.put(o.set("RemoteAddress", remote).set("RemotePort", port).set("SourceAddress", source).
		set("TcpTestSucceeded", err == nil))
}

// warn prints a warning, unless $WarningPreference keeps it.
func (c *call) warn(message string) error {
	w := &call{cmdlet: c.cmdlet, f: c.f, values: map[string]value{messageName: message}}
	return writes("warning", "WARNING")(w)
}

const protocolName = "Net.SecurityProtocolType"

// managerClass is System.Net.ServicePointManager, of which scripts set the versions of TLS. TLS 1.2 and newer ones are
// always used, so a choice without any of them is refused.
func managerClass() *class {
	const newer = 3072 | 12288
	return &class{
		name: "System.Net.ServicePointManager",
		fields: []field{{
			name: "SecurityProtocol",
			get:  func(*frame, value) (value, error) { return enum{enumOf(protocolName), newer}, nil },
			set: func(_, v value) error {
				chosen := int64(0)
				for name := range strings.SplitSeq(text(v), ",") {
					one, ok := enumOf(protocolName).named(strings.TrimSpace(name))
					if n, err := integer(v); !ok && err == nil {
						one, ok = enum{n: n}, true
					}
					if !ok {
						return thrown("[Net.ServicePointManager]::SecurityProtocol %s is not part of Mullion's PowerShell.", text(v))
					}
					chosen |= one.n
				}
				if chosen != 0 && chosen&newer == 0 {
					return thrown("[Net.ServicePointManager]::SecurityProtocol without Tls12 or Tls13 is not part of "+
						"Mullion's PowerShell: %s.", text(v))
				}
				return nil
			},
		}},
	}
}

func internetCmdlets() []cmdlet {
	web := func(c cmdlet) cmdlet {
		c.values = []string{
			"uri", "method", "headers", "body", "contenttype", "useragent", "outfile", "timeoutsec", "maximumredirection",
		}
		c.flags = []string{"usebasicparsing", "disablekeepalive"}
		c.positions = []string{"uri"}
		c.needs = []string{"uri"}
		c.allowed = map[string][]string{"method": {
			"default", "get", "head", "post", "put", "delete", "trace", "options", "merge", "patch",
		}}
		return c
	}
	return []cmdlet{
		web(cmdlet{
			name:    "Invoke-WebRequest",
			aliases: []string{"iwr", "curl", "wget"},
			about:   "asks a web server; no parsed HTML, cookies, proxies or credentials",
			run:     invokeWebRequest,
		}),
		web(cmdlet{
			name:    "Invoke-RestMethod",
			aliases: []string{"irm"},
			about:   "asks a web server for JSON or text",
			run:     invokeRestMethod,
		}),
		{
			name:      "Test-NetConnection",
			aliases:   []string{"tnc"},
			about:     "whether a port answers; no ping",
			run:       testNetConnection,
			values:    []string{"computername", "port", "informationlevel"},
			also:      map[string]string{"cn": "computername", "remoteport": "port"},
			positions: []string{"computername"},
			needs:     []string{"computername", "port"},
			allowed:   map[string][]string{"informationlevel": {"quiet", "detailed"}},
		},
	}
}
