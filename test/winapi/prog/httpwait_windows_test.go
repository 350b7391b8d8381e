package prog

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/internal/base/testrun"
)

// httpPort is a completion port that a queue's handle is bound to.
type httpPort struct{ handle windows.Handle }

func newPort(t *testing.T, q *httpQueue) httpPort {
	t.Helper()
	port, err := windows.CreateIoCompletionPort(q.handle, 0, 42, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = windows.CloseHandle(port) })
	return httpPort{port}
}

// next waits for what ends, and returns its overlapped, its bytes and its error.
func (p httpPort) next(t *testing.T) (*windows.Overlapped, uint32, error) {
	t.Helper()
	var n uint32
	var key uintptr
	var o *windows.Overlapped
	err := windows.GetQueuedCompletionStatus(p.handle, &n, &key, &o, 20000)
	if o == nil {
		t.Fatalf("wait at the port: %v", err)
	}
	if key != 42 {
		t.Errorf("key: %d", key)
	}
	return o, n, err
}

// pending is a request that is waited for at a port; Windows keeps its address.
type pending struct {
	overlapped windows.Overlapped
	request    httpRequest
	rest       [4096]byte
}

func (q *httpQueue) wait(p *pending) error {
	return callHTTP("HttpReceiveHttpRequest", uintptr(q.handle), 0, 0, uintptr(unsafe.Pointer(&p.request)), unsafe.Sizeof(p.request)+4096, 0,
		uintptr(unsafe.Pointer(&p.overlapped)))
}

// TestHTTPPort checks that the ends of overlapped calls come at a completion port, each with its own overlapped, and
// those of other calls do not.
func TestHTTPPort(t *testing.T) {
	q := newQueue(t, "http://+:PORT/")
	port := newPort(t, q)
	waiting := map[*windows.Overlapped]*pending{}
	for range 5 {
		p := new(pending)
		waiting[&p.overlapped] = p
		if err := q.wait(p); !errors.Is(err, windows.ERROR_IO_PENDING) {
			t.Fatalf("wait for a request: %v", err)
		}
	}

	for range 4 {
		answer := make(chan string)
		go func() { answer <- q.ask("GET", "/port", nil) }()
		o, n, err := port.next(t)
		p := waiting[o]
		if err != nil || p == nil || n < 464 || p.request.url() != "/port" {
			t.Fatalf("at the port: %v, %d bytes, known %t", err, n, p != nil)
		}

		delete(waiting, o)
		if err := q.send(p.request.id, 0, 200, nil, []byte("sent")); err != nil { // it waits, and nothing comes of it
			t.Error(err)
		}
		if got := <-answer; got != "200 sent" {
			t.Error(got)
		}
	}

	for o := range waiting {
		if err := windows.CancelIoEx(q.handle, o); err != nil {
			t.Fatal(err)
		}
		got, _, err := port.next(t)
		if got != o || !errors.Is(err, windows.ERROR_OPERATION_ABORTED) {
			t.Errorf("cancelled: %v, the same %t", err, got == o)
		}
	}

	if err := q.wait(new(pending)); !errors.Is(err, windows.ERROR_IO_PENDING) {
		t.Fatal(err)
	}
	if err := callHTTP("HttpCloseRequestQueue", uintptr(q.handle)); err != nil {
		t.Error(err)
	}
	if _, _, err := port.next(t); err == nil {
		t.Error("the queue is closed: a request")
	}

	if got := q.ask("GET", "/", nil); got[:3] != "503" {
		t.Errorf("a group whose queue is closed: %s", got)
	}
}

// TestHTTPCloseWaits checks that a queue that is closed takes with it who waits for a client to go.
func TestHTTPCloseWaits(t *testing.T) {
	q := newQueue(t, "http://+:PORT/")
	port := newPort(t, q)
	c := q.dial(t)
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}

	r, _, err := q.receive(0, 0, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.send(r.id, 0, 200, nil, nil); err != nil { // the connection stays, without a request
		t.Fatal(err)
	}

	o := new(windows.Overlapped)
	err = callHTTP("HttpWaitForDisconnect", uintptr(q.handle), uintptr(r.connection), uintptr(unsafe.Pointer(o)))
	if !errors.Is(err, windows.ERROR_IO_PENDING) {
		t.Fatal(err)
	}
	if err := callHTTP("HttpCloseRequestQueue", uintptr(q.handle)); err != nil {
		t.Fatal(err)
	}

	if got, _, err := port.next(t); got != o || err == nil {
		t.Errorf("%v, the same %t", err, got == o)
	}
}

// TestHTTPEvent checks an overlapped call whose end is told by an event.
func TestHTTPEvent(t *testing.T) {
	q := newQueue(t, "http://+:PORT/")
	event, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer windows.CloseHandle(event)
	p := &pending{overlapped: windows.Overlapped{HEvent: event}}
	if err := q.wait(p); !errors.Is(err, windows.ERROR_IO_PENDING) {
		t.Fatal(err)
	}

	go q.ask("GET", "/", nil)
	var n uint32
	if err := windows.GetOverlappedResult(q.handle, &p.overlapped, &n, true); err != nil || n < 464 {
		t.Fatalf("%v, %d bytes", err, n)
	}
	if err := q.send(p.request.id, 0, 200, nil, nil); err != nil {
		t.Error(err)
	}
}

// TestHTTPDisconnect checks that a program hears of a client that goes, and that it can end a client's connection.
func TestHTTPDisconnect(t *testing.T) {
	q := newQueue(t, "http://+:PORT/")
	port := newPort(t, q)
	for _, how := range []string{"close", "reset", "cancel"} {
		c := q.dial(t)
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		r, _, err := q.receive(0, 0, 4096)
		if err != nil {
			t.Fatal(err)
		}

		o := new(windows.Overlapped)
		err = callHTTP("HttpWaitForDisconnect", uintptr(q.handle), uintptr(r.connection), uintptr(unsafe.Pointer(o)))
		if !errors.Is(err, windows.ERROR_IO_PENDING) {
			t.Fatalf("%s: wait: %v", how, err)
		}

		switch how {
		case "cancel":
			if err := callHTTP("HttpCancelHttpRequest", uintptr(q.handle), uintptr(r.id), 0); err != nil {
				t.Error(err)
			}
		case "reset":
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		default:
			_ = c.Close()
		}

		if got, _, err := port.next(t); got != o || err != nil {
			t.Errorf("%s: %v, the same %t", how, err, got == o)
		}
		if how == "cancel" {
			if n, err := c.Read(make([]byte, 1)); err == nil {
				t.Errorf("the client has read %d bytes", n)
			}
		}

		// A reset may be seen by a send only.
		for end := time.Now().Add(10 * time.Second); ; <-time.After(10 * time.Millisecond) {
			if err := q.send(r.id, 0, 200, nil, nil); errors.Is(err, errorConnectionInvalid) {
				break
			} else if time.Now().After(end) {
				t.Errorf("%s: a response to who has gone: %v", how, err)
				break
			}
		}

		err = callHTTP("HttpWaitForDisconnect", uintptr(q.handle), uintptr(r.connection), 0)
		if !errors.Is(err, errorConnectionInvalid) {
			t.Errorf("%s: wait for who has gone: %v", how, err)
		}
	}
}

// TestHTTPCancelRace cancels receivers while requests come for them. Each receiver ends once, and no request is lost.
func TestHTTPCancelRace(t *testing.T) {
	testrun.Once(t, testrun.Race)
	q := newQueue(t, "http://+:PORT/")
	stop := make(chan bool)
	var asking, receiving sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for range 60 {
				if got := q.ask("GET", "/race", nil); got != "200 raced" {
					t.Errorf("a request: %s", got)
				}
			}
		})
	}

	for range 8 {
		receiving.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					q.raceOnce(t)
				}
			}
		})
	}

	asking.Wait()
	close(stop)
	receiving.Wait()
}

// raceOnce waits for a request for a moment, cancels, and answers the request if there is one all the same.
func (q *httpQueue) raceOnce(t *testing.T) {
	t.Helper()
	event, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer windows.CloseHandle(event)
	p := &pending{overlapped: windows.Overlapped{HEvent: event}}
	if err := q.wait(p); !errors.Is(err, windows.ERROR_IO_PENDING) {
		t.Errorf("wait: %v", err)
		return
	}

	_, _ = windows.WaitForSingleObject(event, rand.Uint32N(4))
	_ = windows.CancelIoEx(q.handle, &p.overlapped) // its end may have come
	var n uint32
	err = windows.GetOverlappedResult(q.handle, &p.overlapped, &n, true)
	switch {
	case errors.Is(err, windows.ERROR_OPERATION_ABORTED):
	case err != nil:
		t.Errorf("the end of a wait: %v", err)
	default:
		if err := q.send(p.request.id, 0, 200, nil, []byte("raced")); err != nil {
			t.Errorf("send: %v", err)
		}
	}
}
