package prog

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostile are requests that are no requests, and the status that each gets; "" if its connection only ends.
var hostile = map[string]string{
	"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 100_000) + "\r\n\r\n": "400",
	"GET /" + strings.Repeat("a", 100_000) + " HTTP/1.1\r\nHost: a\r\n\r\n":        "400",
	strings.Repeat("a", 100_000):                                                                        "400",
	"GET / HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", 5000) + "\r\n":                                    "400",
	"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03":                                                      "400",
	"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                                                      "400",
	"GET / HTTP/1.1\r\n\r\n":                                                                            "400",
	"GET / HTTP/3.1\r\nHost: a\r\n\r\n":                                                                 "505",
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n":                                          "400",
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n":                        "400",
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx":                     "400",
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":    "400",
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n":                                     "501",
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\nx":            "",
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx":             "",
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nx":                           "",
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;" + strings.Repeat("x", 100_000): "",
	"GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n":                                                              "400",
	"GET http:// HTTP/1.1\r\nHost: a\r\n\r\n":                                                           "400",
}

// TestHTTPHostile sends what no client of good will does. The driver serves on.
func TestHTTPHostile(t *testing.T) {
	q := newQueue(t, "http://+:PORT/")
	q.serve(func(r received) {
		if body, err := q.body(r, 0); err == nil {
			_ = q.send(r.id, 0, 200, nil, body)
		} else {
			_ = callHTTP("HttpCancelHttpRequest", uintptr(q.handle), uintptr(r.id), 0)
		}
	})

	alive := func(after string) {
		t.Helper()
		if got := q.ask("POST", "/", strings.NewReader("alive")); got != "200 alive" {
			t.Fatalf("after %.60q: %q", after, got)
		}
	}

	for text, want := range hostile {
		if got := status(q.exchange(t, text)); got != want {
			t.Errorf("%.60q: got %q, want %q", text, got, want)
		}
		alive(text)
	}

	random := rand.New(rand.NewPCG(1, 2))
	seed := []byte("POST /a%20b?c HTTP/1.1\r\nHost: a:1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
	for range 300 {
		text := bytes.Clone(seed)
		for range 1 + random.IntN(3) {
			text[random.IntN(len(text))] = "\r\n :;%/\x00\xff0"[random.IntN(10)]
		}

		c := q.dial(t)
		_, _ = c.Write(text) // it may be refused before its end
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}

	alive("mutations")
}

// status returns a response's status.
func status(response string) string {
	if !strings.HasPrefix(response, "HTTP/1.1 ") || len(response) < 12 {
		return ""
	}
	return response[9:12]
}

// TestHTTPCrowd holds many connections that say nothing, or say it slowly, beside which others are served.
func TestHTTPCrowd(t *testing.T) {
	q := newQueue(t, "http://+:PORT/")
	q.serve(q.echo)
	const crowd = 400
	for i := range crowd {
		c := q.dial(t)
		if i%2 == 0 {
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHo"); err != nil {
				t.Fatal(err)
			}
		}
	}

	var wait sync.WaitGroup
	for i := range 5 {
		c := q.dial(t)
		wait.Go(func() {
			text := fmt.Sprintf("POST /%d HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", i)
			for j := range len(text) {
				if _, err := io.WriteString(c, text[j:j+1]); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(2 * time.Millisecond) // it is to be slow
			}

			all, err := io.ReadAll(c)
			if want := fmt.Sprintf("/%d ab", i); err != nil || !strings.HasSuffix(string(all), want) {
				t.Errorf("a slow sender: %q, %v", all, err)
			}
		})
	}

	for range 20 {
		if got := q.ask("GET", "/fast", nil); got != "200 /fast " {
			t.Errorf("beside them: %q", got)
		}
	}

	wait.Wait()
}
