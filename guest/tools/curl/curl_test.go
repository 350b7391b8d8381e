package curl

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type result struct {
	code     int
	out, err string
}

func do(t *testing.T, in string, args ...string) result {
	t.Helper()
	return doWith(t, map[string]string{}, in, args...)
}

func doWith(t *testing.T, env map[string]string, in string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := Run(Streams{strings.NewReader(in), &out, &errs}, func(name string) string { return env[name] }, args)
	return result{code, out.String(), errs.String()}
}

// serve returns a server that tells what it was asked.
func serve(t *testing.T) *httptest.Server {
	t.Helper()
	var tries atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}

		fmt.Fprintf(w, "%s %s %s\n", r.Method, r.URL.RequestURI(), r.Host)
		for _, name := range []string{"Accept", "Authorization", "Content-Type", "Cookie", "Referer", "User-Agent", "X-Own"} {
			for _, value := range r.Header[name] {
				fmt.Fprintf(w, "%s: %s\n", name, value)
			}
		}

		fmt.Fprintf(w, "%s", body)
	})

	mux.HandleFunc("/form", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			t.Error(err)
		}
		for name, values := range r.MultipartForm.Value {
			fmt.Fprintf(w, "%s=%s\n", name, values)
		}

		for name, files := range r.MultipartForm.File {
			fmt.Fprintf(w, "%s=%s %s %d\n", name, files[0].Filename, files[0].Header.Get("Content-Type"), files[0].Size)
		}
	})

	mux.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Own", "yes")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "no such page")
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/echo?at=end", http.StatusFound) })
	mux.HandleFunc("/keep", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/echo", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+strings.Replace(r.Host, "127.0.0.1", "localhost", 1)+"/echo", http.StatusFound)
	})

	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})

	mux.HandleFunc("/soon", func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1)%3 != 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "at last")
	})

	mux.HandleFunc("/packed", func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			fmt.Fprint(w, "plain")
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, "was packed")
		_ = z.Close()
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "some")
	})

	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	})

	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

const browser = "User-Agent: curl/8.4.0\n"

func TestRequests(t *testing.T) {
	s := serve(t)
	host := strings.TrimPrefix(s.URL, "http://")
	dir := t.TempDir()
	file := filepath.Join(dir, "data.txt")
	if err := os.WriteFile(file, []byte("line one\r\nline two\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	const form = "Content-Type: application/x-www-form-urlencoded\n"
	for _, tt := range []struct {
		name string
		in   string
		args []string
		want string
	}{
		{"get", "", []string{s.URL + "/echo?a=b"}, "GET /echo?a=b " + host + "\nAccept: */*\n" + browser},
		{"no scheme", "", []string{host + "/echo"}, "GET /echo " + host + "\nAccept: */*\n" + browser},
		{"post", "", []string{"-sd", "a=1", "--data", "b=2", s.URL + "/echo"}, "POST /echo " + host + "\nAccept: */*\n" + form + browser + "a=1&b=2"},
		{"in one word", "", []string{"-da=1", "-XPUT", s.URL + "/echo"}, "PUT /echo " + host + "\nAccept: */*\n" + form + browser + "a=1"},
		{"of a file", "", []string{"-d", "@" + file, s.URL + "/echo"}, "POST /echo " + host + "\nAccept: */*\n" + form + browser + "line oneline two"},
		{"of a file as it is", "", []string{"--data-binary", "@" + file, s.URL + "/echo"}, "POST /echo " + host + "\nAccept: */*\n" + form + browser + "line one\r\nline two\n"},
		{"of input", "typed\n", []string{"-d", "@-", s.URL + "/echo"}, "POST /echo " + host + "\nAccept: */*\n" + form + browser + "typed"},
		{"raw", "", []string{"--data-raw", "@x", s.URL + "/echo"}, "POST /echo " + host + "\nAccept: */*\n" + form + browser + "@x"},
		{"query", "", []string{"-G", "--data-urlencode", "q=a b&c", s.URL + "/echo?x=y"}, "GET /echo?x=y&q=a%20b%26c " + host + "\nAccept: */*\n" + browser},
		{"json", "", []string{"--json", `{"a":1}`, s.URL + "/echo"}, "POST /echo " + host + "\nAccept: application/json\nContent-Type: application/json\n" + browser + `{"a":1}`},
		{
			"headers", "",
			[]string{"-H", "X-Own: 1", "-H", "Accept:", "-H", "Host: other", "-A", "me", "-e", "ref", "-b", "c=d", "-u", "user:word", s.URL + "/echo"},
			"GET /echo other\nAuthorization: Basic dXNlcjp3b3Jk\nCookie: c=d\nReferer: ref\nUser-Agent: me\nX-Own: 1\n",
		},
		{"upload", "", []string{"-T", file, s.URL + "/echo"}, "PUT /echo " + host + "\nAccept: */*\n" + browser + "line one\r\nline two\n"},
		{"follow", "", []string{"-L", "-d", "x", s.URL + "/to"}, "GET /echo?at=end " + host + "\nAccept: */*\n" + browser},
		{"follow with body", "", []string{"-L", "-d", "x", s.URL + "/keep"}, "POST /echo " + host + "\nAccept: */*\n" + form + browser + "x"},
		{
			"follow away", "",
			[]string{"-4", "-L", "-u", "user:word", "-b", "c=d", s.URL + "/away"},
			"GET /echo " + strings.Replace(host, "127.0.0.1", "localhost", 1) + "\nAccept: */*\n" + browser,
		},
		{"resolve", "", []string{"--resolve", "example.test:" + port(host) + ":127.0.0.1", "http://example.test:" + port(host) + "/echo"}, "GET /echo example.test:" + port(host) + "\nAccept: */*\n" + browser},
		{"form", "", []string{"-F", "file=@" + file + ";type=text/plain", s.URL + "/form"}, "file=data.txt text/plain 19\n"},
		{"compressed", "", []string{"--compressed", s.URL + "/packed"}, "was packed"},
		{"not compressed", "", []string{s.URL + "/packed"}, "plain"},
		{"retry", "", []string{"-s", "--retry", "3", "--retry-delay", "0.01", s.URL + "/soon"}, "at last"},
		{"two", "", []string{"-o", filepath.Join(dir, "first"), s.URL + "/packed", s.URL + "/packed"}, "plain"},
		{"status", "", []string{"-s", "-o", filepath.Join(dir, "out"), "-w", `%{http_code} %{size_download} %{content_type} %{num_redirects}%%\n`, s.URL + "/status"}, "404 12 text/plain; charset=utf-8 0%\n"},
		{"no body", "", []string{"-f", "-s", "-w", "%{response_code}", "-o", os.DevNull, s.URL + "/packed"}, "200"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := do(t, tt.in, tt.args...)
			if got.code != 0 || got.err != "" {
				t.Errorf("%d, %s", got.code, got.err)
			}
			if diff := cmp.Diff(tt.want, got.out); diff != "" {
				t.Error(diff)
			}
		})
	}

	for name, want := range map[string]string{"first": "plain", "out": "no such page"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func port(host string) string {
	_, port, _ := net.SplitHostPort(host)
	return port
}

func TestHeads(t *testing.T) {
	s := serve(t)
	got := do(t, "", "-i", s.URL+"/status")
	if !strings.HasPrefix(got.out, "HTTP/1.1 404 Not Found\r\n") || !strings.Contains(got.out, "\r\nX-Own: yes\r\n") ||
		!strings.HasSuffix(got.out, "\r\n\r\nno such page") {
		t.Errorf("%q", got.out)
	}
	if got := do(t, "", "-sI", s.URL+"/status"); !strings.HasSuffix(got.out, "\r\n\r\n") || got.code != 0 {
		t.Errorf("%+v", got)
	}

	got = do(t, "", "-sv", s.URL+"/packed")
	for _, line := range []string{"* Connected to 127.0.0.1 (127.0.0.1) port ", "> GET /packed HTTP/1.1\n", "> Host: ", "< HTTP/1.1 200 OK\n"} {
		if !strings.Contains(got.err, line) {
			t.Errorf("no %q in %q", line, got.err)
		}
	}
}

func TestRemoteName(t *testing.T) {
	s := serve(t)
	t.Chdir(t.TempDir())
	if got := do(t, "", "-sO", s.URL+"/packed", "--create-dirs", "-o", "a/b/c", s.URL+"/packed"); got != (result{}) {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"packed", "a/b/c"} {
		if text, err := os.ReadFile(name); err != nil || string(text) != "plain" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if got := do(t, "", "-O", s.URL); got != (result{exitWrite, "", "curl: (23) Remote file name has no length!\n"}) {
		t.Errorf("%+v", got)
	}
}

func TestTrouble(t *testing.T) {
	s := serve(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	_ = closed.Close()
	text, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()

	go func() {
		for {
			c, err := text.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprint(c, "SSH-2.0-x\r\n\r\n")
			_ = c.Close()
		}
	}()

	for _, tt := range []struct {
		name string
		args []string
		want string // with # for a number
		code int
	}{
		{"refused", []string{"http://" + closed.Addr().String()}, "(7) Failed to connect to 127.0.0.1 port # after # ms: Couldn't connect to server", exitConnect},
		{"silent", []string{"-s", "http://" + closed.Addr().String()}, "", exitConnect},
		{"silent but for errors", []string{"-sS", "http://" + closed.Addr().String()}, "(7) Failed to connect to 127.0.0.1 port # after # ms: Couldn't connect to server", exitConnect},
		{"no such host", []string{"http://name.invalid/"}, "(6) Could not resolve host: name.invalid", exitResolve},
		{"fails", []string{"-f", s.URL + "/status"}, "(22) The requested URL returned error: 404", exitHTTP},
		{"too long", []string{"-m", "0.05", s.URL + "/slow"}, "(28) Operation timed out after # milliseconds with # bytes received", exitTimeout},
		{"round", []string{"-L", "--max-redirs", "2", s.URL + "/round"}, "(47) Maximum (2) redirects followed", exitRedirects},
		{"to a file", []string{"-L", s.URL + "/file"}, `(1) Protocol "file" not supported or disabled in libcurl`, exitProtocol},
		{"cut", []string{"-o", os.DevNull, s.URL + "/cut"}, "(18) transfer closed with outstanding read data remaining", exitPartial},
		{"empty", []string{s.URL + "/empty"}, "(52) Empty reply from server", exitEmpty},
		{"no http", []string{"http://" + text.Addr().String()}, "(1) Received HTTP/0.9 when not allowed", exitProtocol},
		{"no tls", []string{"https://" + strings.TrimPrefix(s.URL, "http://")}, "(35) schannel: next InitializeSecurityContext failed: SEC_E_INVALID_TOKEN (0x80090308) - The token supplied to the function is invalid", exitTLS},
		{"ftp", []string{"ftp://x"}, `(1) Protocol "ftp" not supported or disabled in libcurl`, exitProtocol},
		{"no host", []string{"http://"}, "(3) URL using bad/illegal format or missing URL", exitURL},
		{"no folder", []string{"-o", "/none/x", s.URL + "/packed"}, "(23) Failed to open the file /none/x: no such file or directory", exitWrite},
		{"no upload", []string{"-T", "/none", s.URL}, "(26) Can't open '/none'!", exitRead},
		{"no authority", []string{"--cacert", "/none", s.URL}, "(77) schannel: failed to open CA file '/none'", exitAuthority},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := do(t, "", tt.args...)
			said := digits(strings.TrimSuffix(strings.TrimPrefix(got.err, "curl: "), "\n"))
			if got.code != tt.code || said != digits(tt.want) {
				t.Errorf("%+v, want %d %q", got, tt.code, tt.want)
			}
		})
	}
}

// digits returns a message with # for each number that differs from run to run.
func digits(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if i > 0 && strings.Trim(w, "0123456789") == "" {
			words[i] = "#"
		}
	}
	return strings.Join(words, " ")
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "secret")
	}))

	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}

	if got := do(t, "", s.URL); got.code != exitPeer || !strings.Contains(got.err, "SEC_E_UNTRUSTED_ROOT") {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{{"-k", s.URL}, {"--insecure", s.URL}, {"--cacert", file, s.URL}} {
		if got := do(t, "", args...); got != (result{0, "secret", ""}) {
			t.Errorf("%q: %+v", args, got)
		}
	}

	other := "https://other.test:" + port(strings.TrimPrefix(s.URL, "https://"))
	if got := do(t, "", "--cacert", file, "--resolve", "other.test:*:127.0.0.1", "--resolve", strings.TrimPrefix(other, "https://")+":127.0.0.1", other); got.code != exitPeer ||
		!strings.Contains(got.err, "SEC_E_WRONG_PRINCIPAL") {
		t.Errorf("%+v", got)
	}
}

func TestProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "proxied "+r.URL.Host)
	}))
	t.Cleanup(proxy.Close)
	s := serve(t)
	host := strings.TrimPrefix(s.URL, "http://")
	env := map[string]string{"http_proxy": proxy.URL, "no_proxy": "spared.test,.below.test"}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"http://a.test/"}, "proxied a.test"},
		{[]string{"--resolve", "spared.test:" + port(host) + ":127.0.0.1", "http://spared.test:" + port(host) + "/packed"}, "plain"},
		{[]string{"--noproxy", "*", s.URL + "/packed"}, "plain"},
		{[]string{"-x", strings.TrimPrefix(proxy.URL, "http://"), "http://b.test/"}, "proxied b.test"},
	} {
		if got := doWith(t, env, "", tt.args...); got.out != tt.want || got.code != 0 {
			t.Errorf("%q: %+v, want %q", tt.args, got, tt.want)
		}
	}

	if got := doWith(t, map[string]string{"HTTP_PROXY": proxy.URL}, "", s.URL+"/packed"); got.out != "plain" {
		t.Errorf("HTTP_PROXY in capitals was taken: %+v", got)
	}
}

func TestUsage(t *testing.T) {
	const more = "\ncurl: try 'curl --help' for more information\n"
	for _, tt := range []struct {
		args []string
		err  string
	}{
		{nil, "curl: no URL specified!" + more},
		{[]string{"--bad"}, "curl: option --bad: is unknown" + more},
		{[]string{"-sj", "x"}, "curl: option -j: is unknown" + more},
		{[]string{"-o"}, "curl: option -o: requires parameter" + more},
		{[]string{"--max-time"}, "curl: option --max-time: requires parameter" + more},
		{[]string{"-m", "soon", "x"}, "curl: option --max-time: expected a proper numerical parameter" + more},
		{[]string{"-d", "@/none", "x"}, "curl: option -d: error encountered when reading a file: /none" + more},
	} {
		if got := do(t, "", tt.args...); got != (result{exitUsage, "", tt.err}) {
			t.Errorf("%q: %+v", tt.args, got)
		}
	}

	if got := do(t, "", "--version"); got.code != 0 || !strings.HasPrefix(got.out, "curl 8.4.0 (Windows)") {
		t.Errorf("%+v", got)
	}
	if got := do(t, "", "--help"); got.code != 0 || !strings.Contains(got.out, " -o, --output <file> ") {
		t.Errorf("%+v", got)
	}
}

func TestRetriesOfRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	begin := time.Now()
	got := do(t, "", "-sS", "--retry", "2", "--retry-delay", "0.02", "--retry-connrefused", "http://"+address)
	if got.code != exitConnect || time.Since(begin) < 40*time.Millisecond {
		t.Errorf("%+v after %s", got, time.Since(begin))
	}
}
