package utility

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/stream"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/powershell/words"
)

// redirections is how many redirections Invoke-WebRequest follows if it is not told.
const redirections = 5

// web makes the request of Invoke-WebRequest or Invoke-RestMethod, and returns the response and its body.
func web(c *cmdlet.Call) (*http.Response, []byte, error) {
	seconds, err := object.Floating(c.Values["timeoutsec"])
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(c.State.Context)
	if seconds > 0 {
		ctx, cancel = context.WithTimeout(c.State.Context, time.Duration(seconds*float64(time.Second)))
	}
	defer cancel()

	r, err := webRequest(ctx, c)
	if err != nil {
		return nil, nil, err
	}

	most := int64(redirections)
	if v, given := c.Values["maximumredirection"]; given {
		if most, err = object.Integer(v); err != nil {
			return nil, nil, err
		}
	}

	answer, body, err := dotnet.Fetch(ctx, c.State, r, most)
	if e, ok := errors.AsType[*object.Exception](err); ok {
		e.Details = dotnet.Refusal(e)
		e.ID, e.Category = "WebCmdletWebResponseException", object.InvalidOperating
		e.Target = &object.Instance{Of: &object.Class{Name: "System.Net.HttpWebRequest"}}
	}
	return answer, body, err
}

// webRequest returns the request that the parameters describe.
func webRequest(ctx context.Context, c *cmdlet.Call) (*http.Request, error) {
	address := c.Text("uri")
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, object.Thrown("%s : the URL %q is not part of Mullion's PowerShell.", c.Name, address)
	}

	method := strings.ToUpper(c.Text("method"))
	if method == "" || method == "DEFAULT" {
		method = http.MethodGet
	}
	body, contentType := webBody(c, u, method)
	r, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}

	r.Header.Set("User-Agent", "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.20348.1")
	if v, given := c.Values["useragent"]; given {
		r.Header.Set("User-Agent", object.Text(v))
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}

	headers, isTable := c.Values["headers"].(*object.Hashtable)
	if _, given := c.Values["headers"]; given && !isTable {
		return nil, object.Thrown("%s : -Headers that is no hash table is not part of Mullion's PowerShell.", c.Name)
	}

	if isTable {
		for _, name := range headers.Keys {
			if strings.EqualFold(object.Text(name), "host") {
				r.Host = object.Text(headers.Get(name))
			}
			r.Header.Set(object.Text(name), object.Text(headers.Get(name)))
		}
	}

	return r, nil
}

// webBody returns the body of a request and its type. A hash table is a form, of which GET makes a query.
func webBody(c *cmdlet.Call, u *url.URL, method string) (body, contentType string) {
	contentType = c.Text("contenttype")
	form, isForm := c.Values["body"].(*object.Hashtable)
	if !isForm {
		e := encodingOf(contentType)
		if body = string(e.Encode(c.Text("body"))); body != "" && contentType == "" && method == http.MethodPost {
			contentType = "application/x-www-form-urlencoded"
		}
		return body, contentType
	}

	var parts []string
	for _, k := range form.Keys {
		parts = append(parts, url.QueryEscape(object.Text(k))+"="+url.QueryEscape(object.Text(form.Get(k))))
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

// encodingOf returns the encoding that a Content-Type names, or ISO 8859-1, which Windows PowerShell takes for one that
// names none.
func encodingOf(contentType string) *stream.Encoding {
	if e := stream.CharsetOf(contentType); e != nil {
		return e
	}
	return stream.EncodingNamed("iso-8859-1")
}

// headerTable returns a response's headers as a hash table.
func headerTable(h http.Header) *object.Hashtable {
	t := object.NewTable(true)
	for _, name := range library.SortedNames(h) {
		t.Set(name, strings.Join(h[name], ","))
	}
	return t
}

func invokeWebRequest(c *cmdlet.Call) error {
	answer, body, err := web(c)
	if err != nil {
		return err
	}

	if answer.StatusCode/100 == 3 && answer.Header.Get("Location") != "" {
		if err := c.Fail(words.Errorf("The maximum redirection count has been exceeded. To increase the number of " +
			"redirections allowed, supply a higher value to the -MaximumRedirection parameter.")); err != nil {
			return err
		}
	}
	if done, err := outToFile(c, body); done {
		return err
	}

	contentType := answer.Header.Get("Content-Type")
	content := object.Value(encodingOf(contentType).Decode(body))
	if !textual(contentType) {
		content = object.ByteList(body)
	}

	return c.Out.Put(object.New("web response").Set("StatusCode", int64(answer.StatusCode)).
		Set("StatusDescription", http.StatusText(answer.StatusCode)).Set("Content", content).
		Set("Headers", headerTable(answer.Header)).Set("RawContentLength", int64(len(body))))
}

// outToFile writes a body to -OutFile, if that is given.
func outToFile(c *cmdlet.Call, body []byte) (done bool, err error) {
	name := c.Text("outfile")
	if name == "" {
		return false, nil
	}
	if err := c.KnownPath(name); err != nil {
		return true, err
	}
	if err := os.WriteFile(c.State.Path(name), body, 0o644); err != nil {
		return true, c.Fail(provider.Because(name, err))
	}
	return true, nil
}

// textual reports whether a body of a type is text.
func textual(contentType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	for _, part := range []string{"text/", "json", "xml", "javascript", "x-www-form-urlencoded"} {
		if strings.Contains(kind, part) {
			return true
		}
	}
	return kind == ""
}

// invokeRestMethod outputs what a response's JSON holds, or its text.
func invokeRestMethod(c *cmdlet.Call) error {
	answer, body, err := web(c)
	if err != nil {
		return err
	}
	if done, err := outToFile(c, body); done {
		return err
	}

	contentType := strings.ToLower(answer.Header.Get("Content-Type"))
	content := encodingOf(contentType).Decode(body)
	if strings.Contains(contentType, "xml") {
		return object.Thrown("%s : an answer of XML is not part of Mullion's PowerShell.", c.Name)
	}

	v, err := object.FromJSON(content)
	if err != nil {
		if content == "" {
			return nil
		}
		return c.Out.Put(content)
	}

	return c.Out.Put(v)
}

// testNetConnection opens a TCP connection, and says whether that went well. Without a port it pings
// (https://learn.microsoft.com/en-us/powershell/module/nettcpip/test-netconnection).
func testNetConnection(c *cmdlet.Call) error {
	host := c.Text("computername")
	if _, opens := c.Values["port"]; !opens {
		return pingOnce(c, host)
	}
	port, err := object.Integer(c.Values["port"])
	if err != nil {
		return err
	}
	const patience = 21 * time.Second // Windows' own time for a connection
	ctx, cancel := context.WithTimeout(c.State.Context, patience)
	defer cancel()

	o := object.New("connection").Set("ComputerName", host)
	remote, source := host, ""
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, fmt.Sprint(port)))
	if err == nil {
		remote, _, _ = net.SplitHostPort(conn.RemoteAddr().String())
		source, _, _ = net.SplitHostPort(conn.LocalAddr().String())
		_ = conn.Close() // it has shown what it should
	}

	if c.State.Context.Err() != nil {
		return c.State.Context.Err()
	}

	if err != nil {
		message := fmt.Sprintf("TCP connect to (%s : %d) failed", remote, port)
		if _, unknown := errors.AsType[*net.DNSError](err); unknown {
			message = "Name resolution of " + host + " failed"
		}
		if err := warn(c, message); err != nil {
			return err
		}
	}

	if strings.ToLower(c.Text("informationlevel")) == "quiet" {
		return c.Out.Put(err == nil)
	}
	return c.Out.Put(o.Set("RemoteAddress", remote).Set("RemotePort", port).Set("SourceAddress", source).
		Set("TcpTestSucceeded", err == nil))
}

// pingOnce pings a host once, over IPv4 if it has an address of that.
func pingOnce(c *cmdlet.Call, host string) error {
	const size, ttl, patience = 32, 128, 4 * time.Second
	o := object.New("connection").Set("ComputerName", host)
	var remote string
	took, answers := int64(0), false
	all, err := c.State.System.Lookup(c.State.Context, host)
	if err != nil || len(all) == 0 {
		err = warn(c, "Name resolution of "+host+" failed")
	} else {
		at := max(0, slices.IndexFunc(all, netip.Addr.Is4))
		remote = all[at].String()
		var got system.Echo
		got, err = c.State.System.Echo(all[at], system.Ping{
			Size:     size,
			TTL:      ttl,
			Patience: patience,
		})
		if err != nil {
			return c.Fail(err)
		}
		took, answers = got.Took.Milliseconds(), got.Status == 0
		if !answers {
			err = warn(c, "Ping to "+remote+" failed with status: "+pingStatus(got.Status))
		}
	}
	if err != nil {
		return err
	}

	if strings.EqualFold(c.Text("informationlevel"), "quiet") {
		return c.Out.Put(answers)
	}
	o.Set("RemoteAddress", remote).Set("PingSucceeded", answers).Set("PingReplyDetails (RTT)", fmt.Sprintf("%d ms", took))
	o.Props["pingreplydetails"] = object.New(object.Custom).Set("Address", remote).Set("RoundtripTime", took)
	return c.Out.Put(o)
}

// pingStatus returns the name of .NET for how a ping went
// (https://learn.microsoft.com/en-us/dotnet/api/system.net.networkinformation.ipstatus).
func pingStatus(status uint32) string {
	names := map[uint32]string{
		11002: "DestinationNetworkUnreachable", 11003: "DestinationHostUnreachable", system.EchoTimedOut: "TimedOut", 11013: "TtlExpired",
	}
	return cmp.Or(names[status], fmt.Sprint(status))
}

// warn prints a warning, unless $WarningPreference keeps it.
func warn(c *cmdlet.Call, message string) error {
	w := &cmdlet.Call{
		Cmdlet: c.Cmdlet,
		Scope:  c.Scope,
		State:  c.State,
		Values: map[string]object.Value{cmdlet.MessageName: message},
	}
	return writes("warning", "WARNING")(w)
}

func internetCmdlets() []cmdlet.Cmdlet {
	web := func(c cmdlet.Cmdlet) cmdlet.Cmdlet {
		c.Values = []string{
			"uri", "method", "headers", "body", "contenttype", "useragent", "outfile", "timeoutsec",
			"maximumredirection",
		}

		c.Flags = []string{"usebasicparsing", "disablekeepalive"}
		c.Positions = []string{"uri"}
		c.Needs = []string{"uri"}
		c.Allowed = map[string][]string{"method": {
			"default", "get", "head", "post", "put", "delete", "trace", "options", "merge", "patch",
		}}

		return c
	}

	return []cmdlet.Cmdlet{
		web(cmdlet.Cmdlet{
			Name:    "Invoke-WebRequest",
			Aliases: []string{"iwr", "curl", "wget"},
			About:   "asks a web server; no parsed HTML, cookies, proxies or credentials",
			Run:     invokeWebRequest,
		}),
		web(cmdlet.Cmdlet{
			Name:    "Invoke-RestMethod",
			Aliases: []string{"irm"},
			About:   "asks a web server for JSON or text",
			Run:     invokeRestMethod,
		}),
		{
			Name:      "Test-NetConnection",
			Aliases:   []string{"tnc"},
			About:     "whether a port or a ping is answered; what does not answer at a port is not pinged too",
			Run:       testNetConnection,
			Values:    []string{"computername", "port", "informationlevel"},
			Also:      map[string]string{"cn": "computername", "remoteport": "port"},
			Positions: []string{"computername"},
			Needs:     []string{"computername"},
			Allowed:   map[string][]string{"informationlevel": {"quiet", "detailed"}},
		},
	}
}
