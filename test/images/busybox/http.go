package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// curl's exit codes (https://curl.se/libcurl/c/libcurl-errors.html).
const (
	curlBadURL    = 3
	curlNoHost    = 6
	curlNoConnect = 7
	curlHTTPError = 22
	curlTimeout   = 28
	curlTLS       = 35
	curlEmpty     = 52
	curlBadCert   = 60
)

func curl(ctx context.Context, c *call) int {
	o, err := c.parse(
		"q s S g k i I f v L 4 6 N G silent show-error globoff insecure include head fail verbose location ipv4 ipv6 no-buffer http1.1",
		"o w X H d m A u connect-timeout max-time interface request header data data-raw write-out output user-agent post retry")
	if err != nil {
		return c.usage("%v", err)
	}
	if len(o.args()) == 0 {
		return c.usage("no URL specified")
	}

	code := 0
	for _, target := range o.args() {
		if c := curlOne(ctx, c, o, target); c != 0 {
			code = c
		}
	}

	return code
}

// either returns the value of an option by its letter or its word.
func (o *options) either(letter, word string) string {
	if v := o.get(letter); v != "" {
		return v
	}
	return o.get(word)
}

func (o *options) hasEither(letter, word string) bool { return o.has(letter) || o.has(word) }

func curlOne(ctx context.Context, c *call, o *options, target string) int {
	if !strings.Contains(target, "://") {
		target = "http://" + target
	}

	if s := o.either("m", "max-time"); s != "" {
		d, err := seconds(s)
		if err != nil {
			return c.usage("bad time '%s'", s)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}

	req, err := curlRequest(ctx, o, target)
	if err != nil {
		fmt.Fprintf(c.stderr, "curl: (%d) URL using bad/illegal format: %v\n", curlBadURL, err)
		return curlBadURL
	}
	client, err := httpClient(o)
	if err != nil {
		return c.usage("%v", err)
	}

	resp, err := client.Do(req)
	if err != nil {
		code, text := curlError(err, req.URL)
		if !o.hasEither("s", "silent") || o.hasEither("S", "show-error") {
			fmt.Fprintf(c.stderr, "curl: (%d) %s\n", code, text)
		}
		fmt.Fprint(c.stdout, writeOut(o, nil))
		return code
	}

	defer resp.Body.Close()
	return curlAnswer(c, o, resp)
}

func curlRequest(ctx context.Context, o *options, target string) (*http.Request, error) {
	method := o.either("X", "request")
	var body io.Reader
	if data := append(append(append([]string{}, o.all["d"]...), o.all["data"]...),
		o.all["data-raw"]...); len(data) > 0 {
		body = strings.NewReader(strings.Join(data, "&"))
		if method == "" {
			method = http.MethodPost
		}
	}
	if o.hasEither("I", "head") && method == "" {
		method = http.MethodHead
	}

	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	if req.URL.Host == "" {
		return nil, errors.New("no host part in the URL")
	}

	req.Header.Set("User-Agent", "curl/8.12.1 (mullion stand-in)")
	req.Header.Set("Accept", "*/*")
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}

	for _, h := range append(append([]string{}, o.all["H"]...), o.all["header"]...) {
		name, value, ok := strings.Cut(h, ":")
		switch value = strings.TrimSpace(value); {
		case !ok:
			return nil, fmt.Errorf("header '%s' has no colon", h)
		case strings.EqualFold(name, "host"):
			req.Host = value
		default:
			req.Header.Set(name, value)
		}
	}

	return req, nil
}

func httpClient(o *options) (*http.Client, error) {
	dialer := &net.Dialer{Timeout: 5 * time.Minute}
	if s := o.get("connect-timeout"); s != "" {
		d, err := seconds(s)
		if err != nil {
			return nil, fmt.Errorf("bad time '%s'", s)
		}
		dialer.Timeout = d
	}

	if s := o.get("interface"); s != "" {
		ip := net.ParseIP(s)
		if ip == nil {
			return nil, fmt.Errorf("--interface takes an address, got '%s'", s)
		}
		dialer.LocalAddr = &net.TCPAddr{IP: ip}
	}

	network := "tcp"
	if o.hasEither("4", "ipv4") {
		network = "tcp4"
	}

	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives:   true,
		DisableCompression:  true,
		TLSHandshakeTimeout: dialer.Timeout,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: o.hasEither("k", "insecure")}, // what -k asks for
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, addr)
		},
	}}

	if !o.hasEither("L", "location") {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return client, nil
}

// curlError returns curl's code and words for an error.
func curlError(err error, u *url.URL) (int, string) {
	var dns *net.DNSError
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[u.Scheme]
		if port == "" {
			port = "80"
		}
	}

	switch {
	case errors.As(err, &dns) && !dns.IsTimeout:
		return curlNoHost, "Could not resolve host: " + u.Hostname()
	case os.IsTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return curlTimeout, "Connection timed out"
	case errors.As(err, &op) && op.Op == "dial":
		return curlNoConnect, fmt.Sprintf("Failed to connect to %s port %s: %v", u.Hostname(), port, op.Err)
	case errors.As(err, &cert):
		return curlBadCert, "SSL certificate problem: " + cert.Error()
	case errors.As(err, &record):
		return curlTLS, "TLS connect error: " + record.Error()
	case errors.Is(err, io.EOF):
		return curlEmpty, "Empty reply from server"
	}

	return curlNoConnect, err.Error()
}

func curlAnswer(c *call, o *options, resp *http.Response) int {
	out := c.stdout
	if name := o.either("o", "output"); name != "" {
		f, err := os.Create(c.path(name))
		if err != nil {
			return c.fail(err)
		}
		defer f.Close()
		out = f
	}

	if o.hasEither("f", "fail") && resp.StatusCode >= http.StatusBadRequest {
		if !o.hasEither("s", "silent") || o.hasEither("S", "show-error") {
			fmt.Fprintf(c.stderr, "curl: (%d) The requested URL returned error: %d\n", curlHTTPError, resp.StatusCode)
		}
		fmt.Fprint(c.stdout, writeOut(o, resp))
		return curlHTTPError
	}

	if o.hasEither("i", "include") || o.hasEither("I", "head") {
		fmt.Fprintf(out, "%s %s\r\n", resp.Proto, resp.Status)
		if err := resp.Header.Write(out); err != nil {
			return c.fail(err)
		}
		fmt.Fprint(out, "\r\n")
	}

	_, err := io.Copy(out, resp.Body)
	fmt.Fprint(c.stdout, writeOut(o, resp))
	if err != nil {
		code, text := curlError(err, resp.Request.URL)
		fmt.Fprintf(c.stderr, "curl: (%d) %s\n", code, text)
		return code
	}

	return 0
}

// writeOut returns what -w asks for; without an answer the code is 000.
func writeOut(o *options, resp *http.Response) string {
	code := 0
	if resp != nil {
		code = resp.StatusCode
	}
	return strings.NewReplacer("%{http_code}", fmt.Sprintf("%03d", code), `\n`, "\n", "%%",
		"%").Replace(o.either("w", "write-out"))
}

// wget knows -q, -O FILE or -, -T SECONDS, -S, --post-data and --spider.
func wget(ctx context.Context, c *call) int {
	o, err := c.parse("q S c spider no-check-certificate", "O T U t post-data header Y")
	if err != nil {
		return c.usage("%v", err)
	}
	if len(o.args()) != 1 {
		return c.usage("want one URL")
	}

	target := o.args()[0]
	if !strings.Contains(target, "://") {
		target = "http://" + target
	}

	as := &options{set: map[string]string{}, all: map[string][]string{}}
	as.put("L", "")
	if s := o.get("T"); s != "" {
		as.put("connect-timeout", s)
		d, err := seconds(s)
		if err != nil {
			return c.usage("bad time '%s'", s)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}

	if o.has("no-check-certificate") {
		as.put("k", "")
	}
	if o.has("post-data") {
		as.put("d", o.get("post-data"))
	}
	for _, h := range o.all["header"] {
		as.put("H", h)
	}

	req, err := curlRequest(ctx, as, target)
	if err != nil {
		return c.fail(err)
	}
	client, err := httpClient(as)
	if err != nil {
		return c.fail(err)
	}

	resp, err := client.Do(req)
	if err != nil {
		_, text := curlError(err, req.URL)
		return c.fail(errors.New(text))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		return c.fail(fmt.Errorf("server returned error: %s %s", resp.Proto, resp.Status))
	}

	return wgetSave(c, o, resp)
}

func wgetSave(c *call, o *options, resp *http.Response) int {
	out, name := c.stdout, o.get("O")
	switch {
	case o.has("spider"):
		return 0
	case name == "":
		if name = baseName(resp.Request.URL.Path); name == "" {
			name = "index.html"
		}
		fallthrough

	case name != "-":
		f, err := os.Create(c.path(name))
		if err != nil {
			return c.fail(err)
		}
		defer f.Close()
		out = f
	}

	if _, err := io.Copy(out, resp.Body); err != nil {
		return c.fail(err)
	}
	return 0
}

// nginx serves the files of the folder html beneath the folder it is started in, or of /usr/share/nginx/html, on port
// 80, with nginx's welcome page where there is no index.html that was there at the start.
func nginx(ctx context.Context, c *call) int {
	o, err := c.parse("v t", "g c p")
	if err != nil {
		return c.usage("%v", err)
	}
	if o.has("v") {
		fmt.Fprintln(c.stderr, "nginx version: mullion stand-in")
		return 0
	}

	root := c.path("html")
	if _, err := os.Stat(root); err != nil {
		root = c.path("/usr/share/nginx/html")
	}

	port := 80
	if s := c.getenv("NGINX_PORT"); s != "" {
		if port, err = strconv.Atoi(s); err != nil {
			return c.usage("NGINX_PORT: %v", err)
		}
	}

	srv := &http.Server{
		Addr:              ":" + strconv.Itoa(port),
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Server", "nginx (mullion stand-in)")
			fmt.Fprintf(c.stdout, "%s - - [%s] \"%s %s %s\"\n", r.RemoteAddr,
				time.Now().Format("02/Jan/2006:15:04:05 -0700"), r.Method, r.URL.RequestURI(), r.Proto)
			serveFile(w, r, root)
		}),
	}

	go func() {
		<-ctx.Done()
		_ = srv.Close() // the process ends with it
	}()
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return c.fail(err)
	}
	return 0
}

// serveFile answers with a file, or 404 as nginx does; a folder's index.html, never its list.
func serveFile(w http.ResponseWriter, r *http.Request, root string) {
	folder, err := os.OpenRoot(root)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer folder.Close()
	name := strings.Trim(filepath.ToSlash(filepath.Clean("/"+r.URL.Path)), "/")
	if name == "" {
		name = "."
	}

	if info, err := folder.Stat(name); err == nil && info.IsDir() {
		name = strings.TrimPrefix(name+"/index.html", "./")
	}
	f, err := folder.Open(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil || info.IsDir() {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, name, info.ModTime(), f)
}
