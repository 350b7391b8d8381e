package w3svc

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// site makes a server of some files, and returns it with the folder of its log.
func site(t *testing.T, files map[string]string) (*httptest.Server, string) {
	t.Helper()
	dir, logs := t.TempDir(), filepath.Join(t.TempDir(), "W3SVC1")
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}

	log := NewLog(logs)
	log.now = func() time.Time { return time.Date(2026, 11, 27, 10, 20, 30, 0, time.UTC) }
	server := httptest.NewUnstartedServer(nil)
	server.Config = NewServer(root, log)
	server.Start()
	t.Cleanup(func() { server.Close(); log.Close(); root.Close() })

	return server, logs
}

// ask sends a request as it is written and returns the answer with its body.
func ask(t *testing.T, s *httptest.Server, request string) (*http.Response, string) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}

	method, _, _ := strings.Cut(request, " ")
	got, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}

	return got, string(body)
}

// lines waits until a file has so many lines and returns them: a line is written after its answer.
func lines(t *testing.T, file string, n int) []string {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(file)
		if got := strings.Split(strings.TrimSuffix(string(text), "\r\n"), "\r\n"); len(got) >= n ||
			time.Now().After(end) {
			return got
		}
	}
}

func TestServe(t *testing.T) {
	server, _ := site(t, map[string]string{
		"index.html": "the second", "Default.htm": "the first", "style.CSS": "css", "sub/iisstart.htm": "below",
		"data.xyz": "?", "none/picture.png": "png", "app/web.config": "<configuration/>", "app/page.html": "x",
		"app/deep/page.html": "x", "page.aspx": "<% %>",
	})

	for request, want := range map[string]string{
		"GET / ":                                 "200 the first",
		"GET /INDEX.html ":                       "404 ", // the letters' case is the file system's, which is Linux' in this test
		"GET /index.html ":                       "200 the second",
		"GET /index.html?x=1 ":                   "200 the second",
		"GET /style.CSS ":                        "200 css",
		"GET /sub/ ":                             "200 below",
		"GET /sub ":                              "301 /sub/",
		"GET /sub?x=/.. ":                        "301 /sub/?x=/..",
		"GET //sub ":                             "301 /sub/",
		"GET /none/ ":                            "403 14",
		"GET /data.xyz ":                         "404 3",
		"GET /page.aspx ":                        "404 3",
		"GET /missing ":                          "404 ",
		"GET /../../etc/passwd ":                 "404 ",
		"GET /%2e%2e/%2e%2e/etc/pw ":             "404 ",
		"GET /..%5c..%5cwindows ":                "404 ",
		"GET /index.html. ":                      "404 ",
		"GET /index.html%20 ":                    "404 ",
		"GET /index.html::$DATA ":                "404 ",
		"GET /index.html%00.png ":                "404 ",
		"GET /web.config ":                       "404 8",
		"GET /app/Web.Config ":                   "404 8",
		"GET /app/page.html ":                    "500 19",
		"GET /app/deep/page.html ":               "500 19",
		"POST /index.html ":                      "405 ",
		"DELETE /index.html ":                    "405 ",
		"OPTIONS / ":                             "200 ",
		"HEAD /index.html ":                      "200 ",
		"GET /" + strings.Repeat("a", 300) + " ": "404 ",
	} {
		got, body := ask(t, server, request+"HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n")
		is := strings.Fields(got.Status)[0] + " "
		switch got.StatusCode {
		case http.StatusOK:
			is += body
		case http.StatusMovedPermanently:
			is += got.Header.Get("Location")
		default:
			if _, sub, ok := strings.Cut(body, "<title>HTTP Error "+strings.TrimSpace(is)+"."); ok {
				sub, _, _ = strings.Cut(sub, " ")
				is += sub
			}
		}

		if is != want {
			t.Errorf("%s: %q, want %q", request, is, want)
		}
		if got.Header.Get("Server") != "Mullion-W3SVC" {
			t.Errorf("%s: server %q", request, got.Header.Get("Server"))
		}
	}
}

func TestParts(t *testing.T) {
	server, _ := site(t, map[string]string{"a.txt": "0123456789"})
	get := func(name, value string) *http.Response {
		t.Helper()
		got, _ := ask(t, server, "GET /a.txt HTTP/1.1\r\nHost: s\r\nConnection: close\r\n"+name+": "+value+"\r\n\r\n")
		return got
	}

	part := get("Range", "bytes=2-4")
	if part.StatusCode != http.StatusPartialContent || part.Header.Get("Content-Range") != "bytes 2-4/10" ||
		part.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("a part: %s %v", part.Status, part.Header)
	}
	if got := get("If-None-Match", part.Header.Get("ETag")); got.StatusCode != http.StatusNotModified {
		t.Errorf("with its ETag: %s", got.Status)
	}

	if got := get("If-Modified-Since", part.Header.Get("Last-Modified")); got.StatusCode != http.StatusNotModified {
		t.Errorf("with its time: %s", got.Status)
	}
}

// A link within the site is followed, as volumes of ConfigMaps have them; one out of it is not.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	for name, to := range map[string]string{"in.html": "real.html", "out.html": "../secret.html"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range []string{"real.html", "../secret.html"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	for path, want := range map[string]int{"/in.html": 200, "/out.html": 500} {
		w := httptest.NewRecorder()
		handler{root}.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}

func TestLog(t *testing.T) {
	server, logs := site(t, map[string]string{"index.html": "x"})
	ask(t, server, "GET /?a=1 HTTP/1.1\r\nHost: s\r\nUser-Agent: a b\r\nConnection: close\r\n\r\n")
	ask(t, server, "GET /a%0d%0ab%20c HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n")
	ask(t, server, "GET /web.config HTTP/1.1\r\nHost: s\r\nReferer: http://x\r\nConnection: close\r\n\r\n")
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	at := "2026-11-27 10:20:30 127.0.0.1 GET "
	want := []string{
		"#Software: Mullion's W3SVC", "#Version: 1.0", "#Date: 2026-11-27 10:20:30", "#Fields: " + fields,
		at + "/ a=1 " + port + " - 127.0.0.1 a+b - 200 0 0 0",
		at + "/ab+c - " + port + " - 127.0.0.1 - - 404 0 0 0",
		at + "/web.config - " + port + " - 127.0.0.1 - http://x 404 8 0 0",
	}

	got := lines(t, filepath.Join(logs, "u_ex261127.log"), len(want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A log that cannot be written holds no request up.
func TestLogInTheWay(t *testing.T) {
	server, logs := site(t, map[string]string{"index.html": "x"})
	if err := os.WriteFile(logs, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, _ := ask(t, server, "GET / HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n"); got.StatusCode != 200 {
			t.Errorf("%s", got.Status)
		}
	}
}
