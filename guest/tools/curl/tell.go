package curl

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"time"
)

// trace notes when what happens, and says it if --verbose asks for it.
func (t *transfers) trace(r *http.Request, f *figures) *httptrace.ClientTrace {
	say := func(format string, args ...any) {
		if t.verbose {
			fmt.Fprintf(t.Err, format+"\n", args...)
		}
	}

	return &httptrace.ClientTrace{
		DNSDone: func(httptrace.DNSDoneInfo) { f.named = time.Now() },
		ConnectStart: func(_, address string) {
			if f.named.IsZero() {
				f.named = time.Now()
			}
			say("*   Trying %s...", address)
		},
		ConnectDone:      func(_, _ string, err error) { f.connected = time.Now() },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) { f.secured = time.Now() },
		GotConn: func(info httptrace.GotConnInfo) {
			f.local, f.remote = info.Conn.LocalAddr().String(), info.Conn.RemoteAddr().String()
			how := "Connected to %s (%s) port %s"
			if info.Reused {
				how = "Re-using existing connection with host %s (%s) port %s"
			}
			ip, _ := split(f.remote)
			say("* "+how, r.URL.Hostname(), ip, portOf(r.URL))
			say("> %s %s HTTP/1.1", r.Method, r.URL.RequestURI())
		},
		WroteHeaderField: func(name string, values []string) { say("> %s: %s", name, strings.Join(values, ",")) },
		WroteHeaders:     func() { say(">") },
		GotFirstResponseByte: func() {
			f.first = time.Now()
		},
	}
}

func split(address string) (ip, port string) {
	ip, port, err := net.SplitHostPort(address)
	if err != nil {
		return address, ""
	}
	return ip, port
}

// head returns the lines of a response before its body, the last of them empty.
func head(response *http.Response) []string {
	lines := []string{response.Proto + " " + response.Status}
	for _, name := range slices.Sorted(maps.Keys(response.Header)) {
		for _, value := range response.Header[name] {
			lines = append(lines, name+": "+value)
		}
	}

	// Go takes these two out of the headers.
	if response.ContentLength >= 0 && response.Header.Get("Content-Length") == "" && response.Request.Method != http.MethodHead {
		lines = append(lines, fmt.Sprintf("Content-Length: %d", response.ContentLength))
	}
	if len(response.TransferEncoding) > 0 {
		lines = append(lines, "Transfer-Encoding: "+strings.Join(response.TransferEncoding, ", "))
	}
	return append(lines, "")
}

func (t *transfers) sayHead(mark string, response *http.Response) {
	for _, line := range head(response) {
		fmt.Fprintln(t.Err, strings.TrimRight(mark+line, " "))
	}
}

// tell prints what --write-out asks for.
func (t *transfers) tell(f *figures) {
	var b strings.Builder
	for rest := t.writeOut; rest != ""; {
		i := strings.IndexAny(rest, `%\`)
		if i < 0 || i+1 == len(rest) {
			b.WriteString(rest)
			break
		}

		b.WriteString(rest[:i])
		mark := rest[i : i+2]
		name, after, closed := strings.Cut(rest[i+2:], "}")
		switch {
		case mark == "%{" && closed:
			b.WriteString(f.value(t, name))
			rest = after
			continue

		case mark == "%%":
			b.WriteByte('%')
		case mark == `\n`:
			b.WriteByte('\n')
		case mark == `\r`:
			b.WriteByte('\r')
		case mark == `\t`:
			b.WriteByte('\t')
		default:
			b.WriteString(mark)
		}

		rest = rest[i+2:]
	}

	fmt.Fprint(t.Out, b.String())
}

// value returns a variable of --write-out (https://curl.se/docs/manpage.html#-w); one that is not known is nothing, as
// in curl, which says so.
func (f *figures) value(t *transfers, name string) string {
	since := func(when time.Time) string {
		if when.IsZero() {
			return "0.000000"
		}
		return fmt.Sprintf("%.6f", when.Sub(f.begin).Seconds())
	}

	status, header := 0, http.Header{}
	if f.response != nil {
		status, header = f.response.StatusCode, f.response.Header
	}

	localIP, localPort := split(f.local)
	remoteIP, remotePort := split(f.remote)
	redirect := ""
	if f.response != nil && status/100 == 3 {
		if u, err := f.response.Location(); err == nil {
			redirect = u.String()
		}
	}

	effective, message := "", ""
	if f.url != nil {
		effective = f.url.String()
	}
	if f.err != nil {
		_, message, _ = strings.Cut(f.err.Error(), ") ")
	}

	speed := 0.0
	if took := f.end.Sub(f.begin).Seconds(); took > 0 {
		speed = float64(f.size) / took
	}

	values := map[string]string{
		"content_type": header.Get("Content-Type"), "errormsg": message, "exitcode": fmt.Sprint(code(f.err)),
		"filename_effective": f.file, "http_code": fmt.Sprintf("%03d", status), "response_code": fmt.Sprintf("%03d", status),
		"http_version": "1.1", "local_ip": localIP, "local_port": localPort, "num_redirects": fmt.Sprint(f.redirects),
		"redirect_url": redirect, "remote_ip": remoteIP, "remote_port": remotePort, "size_download": fmt.Sprint(f.size),
		"speed_download": fmt.Sprintf("%.0f", speed), "ssl_verify_result": "0", "time_appconnect": since(f.secured),
		"time_connect": since(f.connected), "time_namelookup": since(f.named), "time_pretransfer": since(f.connected),
		"time_redirect": "0.000000", "time_starttransfer": since(f.first), "time_total": since(f.end),
		"url": effective, "url_effective": effective,
	}

	value, known := values[name]
	if !known {
		fmt.Fprintf(t.Err, "curl: unknown --write-out variable: '%s'\n", name)
	}
	return value
}
