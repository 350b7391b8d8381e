package prog

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// TestHTTPPrefixes checks which queue a request goes to, and how it is answered if it goes to none.
func TestHTTPPrefixes(t *testing.T) {
	first := newQueue(t, "http://+:PORT/a/", "http://localhost:PORT/", "http://127.0.0.1:PORT/local/")
	first.serve(func(r received) { _ = first.send(r.id, 0, 200, nil, []byte("first")) })
	second := &httpQueue{port: first.port}
	second.open(t)
	for prefix, want := range map[string]error{
		"http://+:PORT/a/b/": nil, "http://*:PORT/weak/": nil, "http://[::1]:PORT/": nil,
		"HTTP://+:PORT/A/":   windows.ERROR_ALREADY_EXISTS,
		"http://+:PORT":      windows.ERROR_INVALID_PARAMETER,
		"http://+/":          windows.ERROR_INVALID_PARAMETER,
		"https://+:PORT/":    windows.ERROR_NOT_SUPPORTED,
		"http://+:99999/":    windows.ERROR_INVALID_PARAMETER,
		"http://+:PORT/a?b/": windows.ERROR_INVALID_PARAMETER,
	} {
		if err := second.add(prefix, 0); !errors.Is(err, want) {
			t.Errorf("add %s: %v, want %v", prefix, err, want)
		}
	}

	second.serve(func(r received) { _ = second.send(r.id, 0, 200, nil, []byte("second")) })
	route := func(host, path string) string {
		answer := first.exchange(t, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
		head, body, _ := strings.Cut(answer, "\r\n\r\n")
		if status, _, _ := strings.Cut(strings.TrimPrefix(head, "HTTP/1.1 "), " "); status != "200" {
			return status
		}
		return body
	}

	for _, c := range []struct{ host, path, want string }{
		{"x", "/a", "first"},
		{"x", "/a/", "first"},
		{"x", "/A/c?q", "first"},
		{"x", "/a/b", "second"},
		{"x", "/a/b/c", "second"},
		{"x", "/ab", "404"},
		{"x", "/a/../weak", "second"},
		{"x", "/local/x", "first"},
		{"localhost:1", "/any", "first"},
		{"localhost", "/weak/", "first"},
		{"x", "/", "404"},
		{"x y", "/a", "400"},
	} {
		if got := route(c.host, c.path); got != c.want {
			t.Errorf("%s of %s: got %q, want %q", c.path, c.host, got, c.want)
		}
	}

	if err := second.remove("http://+:PORT/a/b/"); err != nil {
		t.Error(err)
	}
	if err := second.remove("http://+:PORT/a/"); !errors.Is(err, windows.ERROR_FILE_NOT_FOUND) {
		t.Errorf("remove another group's prefix: %v", err)
	}
	if got := route("x", "/a/b"); got != "first" {
		t.Errorf("after its prefix is removed: %q", got)
	}

	if err := second.bind(0); err != nil {
		t.Error(err)
	}
	if got := route("x", "/weak/"); got != "503" {
		t.Errorf("a group without a queue: %q", got)
	}
}

// TestHTTPGroups checks a group's and a queue's properties, and ports that are in use or no longer.
func TestHTTPGroups(t *testing.T) {
	q := newQueue(t, "http://+:PORT/")
	q.serve(q.echo)
	state := func(value uint32) {
		t.Helper()
		info := [2]uint32{1, value}
		err := callHTTP("HttpSetUrlGroupProperty", uintptr(q.group), httpStateProperty, uintptr(unsafe.Pointer(&info)), 8)
		var got [2]uint32
		var n uint32
		err = errors.Join(err, callHTTP("HttpQueryUrlGroupProperty", uintptr(q.group), httpStateProperty, uintptr(unsafe.Pointer(&got)), 8,
			uintptr(unsafe.Pointer(&n))))
		if err != nil || got != info || n != 8 {
			t.Errorf("state %d: %v, %v, %d bytes", value, err, got, n)
		}
	}
	state(1)
	got := q.ask("GET", "/", nil)
	if !strings.HasPrefix(got, "503 ") || !strings.Contains(got, "HTTP Error 503. The service is unavailable.") {
		t.Errorf("an inactive group: %q", got)
	}

	state(0)
	if got := q.ask("GET", "/", nil); got != "200 / " {
		t.Errorf("an active group: %q", got)
	}

	idle := newQueue(t, "http://+:PORT/")
	length := uint32(2)
	err := callHTTP("HttpSetRequestQueueProperty", uintptr(idle.handle), httpLengthProperty, uintptr(unsafe.Pointer(&length)), 4, 0, 0)
	if err != nil {
		t.Error(err)
	}

	answers := make(chan string, 3)
	for range 3 {
		go func() { answers <- idle.ask("GET", "/", nil) }()
	}

	if got := <-answers; !strings.HasPrefix(got, "503 ") { // the third one, whichever that is
		t.Errorf("a full queue: %q", got)
	}

	for range 2 {
		r, _, err := idle.receive(0, 0, 4096)
		if err != nil {
			t.Fatal(err)
		}
		if err := idle.send(r.id, 0, 200, nil, nil); err != nil {
			t.Error(err)
		}

		if got := <-answers; got != "200 " {
			t.Errorf("a request that has waited: %q", got)
		}
	}

	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := fmt.Sprintf("http://+:%d/", l.Addr().(*net.TCPAddr).Port)
	if err := q.add(taken, 0); !errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		t.Errorf("a port in use: %v", err)
	}

	if err := callHTTP("HttpCloseServerSession", uintptr(q.session)); err != nil {
		t.Error(err)
	}
	// The socket is closed by then. Wine's server lets go of the port when the driver's wait for a client has ended.
	for deadline := time.Now().Add(5 * time.Second); ; {
		got := q.ask("GET", "/", nil)
		if strings.Contains(got, "refused") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the session: %q", got)
		}
	}
}

// portName is the variable that makes this program a second process that serves.
const portName = "WINAPI_HTTP_PORT"

// TestHTTPOther serves /other/ at a port, as another process, until it is killed.
func TestHTTPOther(t *testing.T) {
	port, err := strconv.Atoi(os.Getenv(portName))
	if err != nil {
		t.Skip("it is the second process of TestHTTPProcesses")
	}
	q := &httpQueue{port: port}
	q.open(t)
	if err := q.add("http://+:PORT/other/", 0); err != nil {
		t.Fatal(err)
	}

	fmt.Println("serving")
	for {
		r, _, err := q.receive(0, 0, 4096)
		if err != nil {
			t.Fatal(err)
		}
		if r.url() == "/other/hang" {
			continue
		}

		if err := q.send(r.id, 0, 200, nil, []byte("other")); err != nil {
			t.Error(err)
		}
	}
}

// TestHTTPProcesses checks that two processes share a port, and that one that is killed leaves nothing.
func TestHTTPProcesses(t *testing.T) {
	q := newQueue(t, "http://+:PORT/")
	q.serve(q.echo)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	other := exec.CommandContext(t.Context(), self, "-test.run=TestHTTPOther$", "-test.v")
	other.Env = append(os.Environ(), fmt.Sprintf("%s=%d", portName, q.port))
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}

	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "serving") {
		t.Log(lines.Text())
	}

	if got := q.ask("GET", "/other/x", nil) + ", " + q.ask("GET", "/x", nil); got != "200 other, 200 /x " {
		t.Errorf("two processes: %q", got)
	}
	hanging := make(chan string)
	go func() { hanging <- q.ask("GET", "/other/hang", nil) }()
	time.Sleep(300 * time.Millisecond) // for the request to be there; if it is not, it is answered by this process
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	_ = other.Wait() // it was killed
	if got := <-hanging; strings.HasPrefix(got, "200 other") {
		t.Errorf("a request that a killed process had: %q", got)
	}
	if got := q.ask("GET", "/other/x", nil); got != "200 /other/x " {
		t.Errorf("after the other process: %q", got)
	}
}
