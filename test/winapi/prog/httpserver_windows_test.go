package prog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// ask asks the queue's port and returns the status and the body, or the error.
func (q *httpQueue) ask(method, path string, body io.Reader) string {
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequest(method, fmt.Sprintf("http://127.0.0.1:%d%s", q.port, path), body)
	if err != nil {
		return err.Error()
	}
	response, err := client.Do(request)
	if err != nil {
		return err.Error()
	}

	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", response.StatusCode, all)
}

// dial connects to the queue's port.
func (q *httpQueue) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", q.port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// exchange sends text and returns all that comes back until the connection ends, or the error.
func (q *httpQueue) exchange(t *testing.T, text string) string {
	t.Helper()
	c := q.dial(t)
	if _, err := io.WriteString(c, text); err != nil {
		return err.Error()
	}
	all, err := io.ReadAll(c)
	if err != nil {
		return string(all) + err.Error()
	}
	return string(all)
}

// TestHTTPRequest checks what a program gets of a request.
func TestHTTPRequest(t *testing.T) {
	q := newQueue(t, "http://+:PORT/a/")
	answer := make(chan string)
	go func() {
		answer <- q.exchange(t, "POST /a/b%20c?d=%20 HTTP/1.1\r\nHost: x\r\nUser-Agent:  test \r\nCookie: a=1\r\nX-Own: own\r\n"+
			"cookie: b=2\r\nConnection: close\r\nContent-Length: 20000\r\n\r\n"+strings.Repeat("0123456789", 2000))
	}()

	r, _, err := q.receive(0, httpCopyBody, 4096)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%d.%d verb %d context %d %s, %s, %s, %s, %s; %q, %q; own %d %s",
		r.version.major, r.version.minor, r.verb, r.context, r.url(),
		wideText(r.full, r.fullLength), wideText(r.host, r.hostLength), wideText(r.path, r.pathLength),
		wideText(r.query, r.queryLength), r.header(httpHeaderUserAgent), r.header(httpHeaderCookie),
		r.unknownCount, unsafe.String(r.unknown.value, r.unknown.length))

	port := fmt.Sprint(q.port)
	want := `1.1 verb 6 context 7 /a/b%20c?d=%20, http://x:PORT/a/b c?d=%20, x:PORT, /a/b c, ?d=%20; ` +
		`"test", "a=1; b=2"; own 1 own`
	if want = strings.ReplaceAll(want, "PORT", port); got != want {
		t.Errorf("request: got %s\nwant %s", got, want)
	}
	loopback := [4]byte{127, 0, 0, 1}
	if r.local.Family != windows.AF_INET || r.local.Addr != loopback || r.remote.Addr != loopback {
		t.Errorf("addresses: %+v, %+v", r.local, r.remote)
	}

	body, err := q.body(r, httpFillBuffer)
	if err != nil || len(body) != 20000 || !strings.HasSuffix(string(body), "0123456789") || r.chunkCount != 1 {
		t.Errorf("body: %d bytes, %d copied, %v", len(body), r.chunkCount, err)
	}
	if err := q.send(r.id, 0, 404, map[int]string{httpHeaderCookie + 2: "c=3"}, []byte("none")); err != nil {
		t.Error(err)
	}

	err = q.send(r.id, 0, 200, nil, nil)
	if !errors.Is(err, errorConnectionInvalid) && !errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		t.Errorf("a second response: %v", err)
	}

	text := <-answer
	for _, part := range []string{
		"HTTP/1.1 404 OK\r\n", "\r\nSet-Cookie: c=3\r\n", "\r\nContent-Length: 4\r\n", "\r\nServer: Microsoft-HTTPAPI/2.0\r\n", "\r\nDate: ",
		"\r\nConnection: close\r\n", "\r\n\r\nnone",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("response: no %q in %q", part, text)
		}
	}
}

// TestHTTPSmallBuffer checks that a request that does not fit is kept for who asks for it by its number.
func TestHTTPSmallBuffer(t *testing.T) {
	q := newQueue(t, "http://+:PORT/")
	answer := make(chan string)
	go func() {
		long := strings.Repeat("x", 5000)
		answer <- q.exchange(t, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: "+long+"\r\nConnection: close\r\n\r\n")
	}()

	r, n, err := q.receive(0, 0, 1024)
	if !errors.Is(err, windows.ERROR_MORE_DATA) || n < 5000 || n > 10000 || r.id == 0 {
		t.Fatalf("a small buffer: %v, %d bytes, request %d", err, n, r.id)
	}
	again, _, err := q.receive(r.id, 0, int(n+7)&^7)
	if err != nil || again.unknown.length != 5000 || again.id != r.id {
		t.Errorf("a large buffer: %v, %d", err, again.unknown.length)
	}

	if err := q.send(r.id, 0, 200, nil, []byte("large")); err != nil {
		t.Error(err)
	}
	if got := <-answer; !strings.HasSuffix(got, "large") {
		t.Errorf("response: %q", got)
	}
	if _, _, err := q.receive(r.id, 0, 4096); !errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		t.Errorf("a request that is over: %v", err)
	}

	if _, _, err := q.receive(0, 0, 256); !errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) {
		t.Errorf("a buffer that holds no request: %v", err)
	}
}

// TestHTTPResponses checks bodies in several calls, from files, and responses without one.
func TestHTTPResponses(t *testing.T) {
	q := newQueue(t, "http://+:PORT/")
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "0123456789")
	large := bytes.Repeat([]byte("0123456789"), 2_000_000)
	q.serve(func(r received) {
		var err error
		switch r.url() {
		case "/length":
			headers := map[int]string{httpHeaderContentLength: "6"}
			err = errors.Join(q.send(r.id, httpMoreData, 200, headers, []byte("one")), q.more(r.id, httpMoreData, []byte("tw")), q.more(r.id, httpMoreData, []byte("o")), q.more(r.id, 0, nil))
		case "/chunked":
			err = errors.Join(q.send(r.id, httpMoreData, 200, map[int]string{httpHeaderEncoding: "chunked"}, nil),
				q.more(r.id, httpMoreData, []byte("3\r\none\r\n")), q.more(r.id, 0, []byte("0\r\n\r\n")))
		case "/unsized":
			err = errors.Join(q.send(r.id, httpMoreData, 200, nil, []byte("until")),
				q.more(r.id, httpDisconnect, []byte(" the end")))

		case "/short":
			err = q.send(r.id, 0, 200, map[int]string{httpHeaderContentLength: "100"}, []byte("short"))
		case "/file":
			err = q.sendFile(r.id, file)
		case "/large":
			err = q.send(r.id, 0, 200, nil, large)
		case "/204":
			err = q.send(r.id, 0, 204, nil, nil)
		case "/split":
			err = q.send(r.id, 0, 200, map[int]string{28: "a\r\nX-Split: 1"}, nil)
			if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
				err = q.send(r.id, 0, 500, nil, []byte("refused"))
			}

		default:
			err = q.send(r.id, 0, 200, nil, []byte("seven"))
		}

		if err != nil {
			t.Errorf("%s: %v", r.url(), err)
		}
	})

	for path, want := range map[string]string{
		"/length": "200 onetwo", "/chunked": "200 one", "/unsized": "200 until the end", "/short": "unexpected EOF", "/file": "200 a 23456 b",
		"/204": "204 ", "/split": "500 refused", "/x": "200 seven", "/large": "200 " + string(large),
	} {
		if got := q.ask("GET", path, nil); got != want {
			t.Errorf("%s: got %.100q, want %.100q", path, got, want)
		}
	}

	head := q.exchange(t, "HEAD / HTTP/1.0\r\n\r\n")
	if !strings.Contains(head, "\r\nContent-Length: 5\r\n") || !strings.HasSuffix(head, "\r\n\r\n") {
		t.Errorf("HEAD: %q", head)
	}
	pipelined := q.exchange(t, strings.Repeat("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", 50)+
		"GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	if n := strings.Count(pipelined, "\r\n\r\nseven"); n != 51 {
		t.Errorf("pipelined: %d responses", n)
	}

	kept := q.exchange(t, "GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /x HTTP/1.0\r\n\r\n")
	if strings.Count(kept, "seven") != 2 || strings.Count(kept, "Connection: keep-alive") != 1 {
		t.Errorf("HTTP/1.0 kept alive: %q", kept)
	}
}

// sendFile sends "a ", five bytes of a file from the third one on, and " b".
func (q *httpQueue) sendFile(id uint64, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	type fileChunk struct {
		kind        uint32
		start, size uint64
		handle      windows.Handle
	}

	chunks := [3]fileChunk{1: {1, 2, 5, windows.Handle(f.Fd())}}
	for i, text := range map[int]string{0: "a ", 2: " b"} {
		memory := (*httpChunk)(unsafe.Pointer(&chunks[i]))
		memory.buffer, memory.length = unsafe.StringData(text), uint32(len(text))
	}

	response := httpResponse{
		status:     200,
		chunkCount: 3,
		chunks:     (*httpChunk)(unsafe.Pointer(&chunks)),
	}

	return callHTTP("HttpSendHttpResponse", uintptr(q.handle), uintptr(id), 0, uintptr(unsafe.Pointer(&response)), 0, 0, 0, 0, 0, 0)
}

// TestHTTPExpect checks that a body is asked for when the program reads it, and not before.
func TestHTTPExpect(t *testing.T) {
	q := newQueue(t, "http://+:PORT/")
	c := q.dial(t)
	reader := bufio.NewReader(c)
	if _, err := io.WriteString(c, "POST /e HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"); err != nil {
		t.Fatal(err)
	}

	r, _, err := q.receive(0, httpCopyBody, 4096)
	if err != nil {
		t.Fatal(err)
	}
	go q.echo(r)
	if line, err := reader.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("got %q, %v", line, err)
	}

	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.ReadString('\n'); err != nil {
		t.Fatal(err)
	}

	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); string(body) != "/e hello" {
		t.Errorf("body: %q, %v", body, err)
	}
}

// TestHTTPParallel checks 100 requests at a time, and a body of 20 MB.
func TestHTTPParallel(t *testing.T) {
	q := newQueue(t, "http://+:PORT/")
	q.serve(q.echo)
	var wait sync.WaitGroup
	for i := range 100 {
		wait.Go(func() {
			want := fmt.Sprintf("200 /%d body %d", i, i)
			if got := q.ask("POST", fmt.Sprintf("/%d", i), strings.NewReader(fmt.Sprintf("body %d", i))); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}

	wait.Wait()
	large := strings.Repeat("0123456789", 2_000_000)
	if got := q.ask("PUT", "/", strings.NewReader(large)); got != "200 / "+large {
		t.Errorf("a large body: %.100q…, %d bytes", got, len(got))
	}
	chunked := struct{ io.Reader }{strings.NewReader(large[:1_000_000])} // of a length that the client does not know
	if got := q.ask("PUT", "/", chunked); got != "200 / "+large[:1_000_000] {
		t.Errorf("a chunked body: %.100q…, %d bytes", got, len(got))
	}
}
