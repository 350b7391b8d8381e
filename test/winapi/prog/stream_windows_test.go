package prog

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/internal/base/testrun"
)

var (
	ws2                  = windows.NewLazySystemDLL("ws2_32.dll")
	procAccept           = ws2.NewProc("accept")
	procConnect          = ws2.NewProc("connect")
	procEventSelect      = ws2.NewProc("WSAEventSelect")
	procEnumEvents       = ws2.NewProc("WSAEnumNetworkEvents")
	procOverlappedResult = ws2.NewProc("WSAGetOverlappedResult")
	procIoctl            = ws2.NewProc("ioctlsocket")
	procRecv             = ws2.NewProc("recv")
	procSend             = ws2.NewProc("send")
	procSelect           = ws2.NewProc("select")
	procSetsockopt       = ws2.NewProc("setsockopt")
	procShutdown         = ws2.NewProc("shutdown")
)

const (
	fionbio    = 0x8004667e
	soRcvtimeo = 0x1006
	soLinger   = 0x80
	fdRead     = 1
	fdWrite    = 2
	fdClose    = 32
	sdReceive  = 0
	sdSend     = 1
	peek       = 2
	// soon is how long a test waits for what has to come.
	soon = 20 * time.Second
)

// sock is a socket of Winsock, used as a program in C does.
type sock struct {
	t *testing.T
	s windows.Handle
}

// pair returns the two ends of a connection, made by connect and accept. Both wait.
func pair(t *testing.T) (client, server sock) {
	t.Helper()
	listener := newSock(t)
	if err := windows.Bind(listener.s, &windows.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := windows.Listen(listener.s, 5); err != nil {
		t.Fatal(err)
	}

	address, err := windows.Getsockname(listener.s)
	if err != nil {
		t.Fatal(err)
	}
	client = newSock(t)
	if err := windows.Connect(client.s, address); err != nil {
		t.Fatal(err)
	}

	accepted, _, err := procAccept.Call(uintptr(listener.s), 0, 0)
	if windows.Handle(accepted) == windows.InvalidHandle {
		t.Fatal(err)
	}
	server = sock{t, windows.Handle(accepted)}
	t.Cleanup(func() { _ = windows.Closesocket(server.s) })
	return client, server
}

func newSock(t *testing.T) sock {
	t.Helper()
	s, err := windows.WSASocket(windows.AF_INET, windows.SOCK_STREAM, windows.IPPROTO_TCP, nil, 0,
		windows.WSA_FLAG_OVERLAPPED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = windows.Closesocket(s) })
	return sock{t, s}
}

// call calls a function of Winsock that returns SOCKET_ERROR when it fails.
//
//go:uintptrescapes
func (s sock) call(proc *windows.LazyProc, args ...uintptr) (int, error) {
	n, _, err := proc.Call(append([]uintptr{uintptr(s.s)}, args...)...)
	if int32(n) < 0 {
		return -1, err
	}
	return int(n), nil
}

// must is call, of what does not fail.
//
//go:uintptrescapes
func (s sock) must(proc *windows.LazyProc, args ...uintptr) {
	s.t.Helper()
	if _, err := s.call(proc, args...); err != nil {
		s.t.Fatalf("%s: %v", proc.Name, err)
	}
}

func (s sock) nonblocking() sock {
	s.t.Helper()
	on := uint32(1)
	s.must(procIoctl, fionbio, uintptr(unsafe.Pointer(&on)))
	return s
}

func (s sock) send(data string) (int, error) {
	b := []byte(data)
	return s.call(procSend, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0)
}

func (s sock) write(data string) {
	s.t.Helper()
	if n, err := s.send(data); err != nil || n != len(data) {
		s.t.Fatalf("send %d bytes: %d, %v", len(data), n, err)
	}
}

// recv returns what one call receives of at most size bytes.
func (s sock) recv(size, flags int) (string, error) {
	b := make([]byte, max(size, 1))
	n, err := s.call(procRecv, uintptr(unsafe.Pointer(&b[0])), uintptr(size), uintptr(flags))
	return string(b[:max(n, 0)]), err
}

func (s sock) expect(want string) {
	s.t.Helper()
	var all strings.Builder
	for all.Len() < len(want) {
		part, err := s.recv(min(len(want)-all.Len(), 1<<18), 0)
		if err != nil || part == "" {
			s.t.Fatalf("received %d bytes of %d, then %q, %v", all.Len(), len(want), part, err)
		}
		all.WriteString(part)
	}
	if got := all.String(); got != want {
		s.t.Fatalf("received %.100q, want %.100q", got, want)
	}
}

// fails checks that a call fails with an error of Winsock.
func fails(t *testing.T, what string, err error, want windows.Errno) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// operation is an overlapped call and its buffer.
type operation struct {
	windows.Overlapped
	buffer []byte
}

// operations keeps all operations where they are: Windows writes to them later.
var operations struct {
	sync.Mutex
	all []*operation
}

func newOperation(buffer []byte) *operation {
	o := &operation{buffer: buffer}
	operations.Lock()
	defer operations.Unlock()
	operations.all = append(operations.all, o)
	return o
}

func (s sock) start(o *operation, receives bool) error {
	buf := windows.WSABuf{Len: uint32(len(o.buffer)), Buf: unsafe.SliceData(o.buffer)}
	var n, flags uint32
	if receives {
		return windows.WSARecv(s.s, &buf, 1, &n, &flags, &o.Overlapped, nil)
	}
	return windows.WSASend(s.s, &buf, 1, &n, 0, &o.Overlapped, nil)
}

// result waits for an operation with an event, and returns its bytes.
func (s sock) result(o *operation) (int, error) {
	var n, flags uint32
	ok, _, err := procOverlappedResult.Call(uintptr(s.s), uintptr(unsafe.Pointer(&o.Overlapped)),
		uintptr(unsafe.Pointer(&n)), 1, uintptr(unsafe.Pointer(&flags)))
	if ok == 0 {
		return 0, err
	}
	return int(n), nil
}

func event(t *testing.T) windows.Handle {
	t.Helper()
	e, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = windows.CloseHandle(e) })
	return e
}

func signaled(e windows.Handle, d time.Duration) bool {
	result, err := windows.WaitForSingleObject(e, uint32(d.Milliseconds()))
	return err == nil && result == windows.WAIT_OBJECT_0
}

func TestStreamWaitsAndWouldNotWait(t *testing.T) {
	a, b := pair(t)
	a.write("one")
	b.expect("one")
	go func() {
		time.Sleep(100 * time.Millisecond)
		_, _ = a.send("two")
	}()
	b.expect("two") // waits
	b.nonblocking()
	_, err := b.recv(10, 0)
	fails(t, "recv without data", err, windows.WSAEWOULDBLOCK)
	_, err = b.recv(0, 0)
	fails(t, "recv of no bytes without data", err, windows.WSAEWOULDBLOCK)
	a.write("three")
	if got, err := b.recv(5, peek); err != nil || got != "three" {
		t.Errorf("MSG_PEEK: %q, %v", got, err)
	}

	b.expect("three")
}

func TestStreamPartialSend(t *testing.T) {
	a, b := pair(t)
	a.nonblocking()
	big := make([]byte, 24<<20)
	for i := range big {
		big[i] = byte(rand.Uint32())
	}

	n, err := a.send(string(big))
	if err != nil || n <= 0 || n >= len(big) {
		t.Fatalf("a send of 24 MB that does not wait: %d, %v", n, err)
	}

	for err == nil { // Linux takes some more in the background
		var more int
		more, err = a.send(string(big[n:min(n+1<<20, len(big))]))
		n += max(more, 0)
		if n == len(big) {
			t.Fatal("all 24 MB went without a reader")
		}
	}

	fails(t, "send to a full socket", err, windows.WSAEWOULDBLOCK)
	b.expect(string(big[:n]))
}

// A send that waits sends all, though Linux takes a part at once.
func TestStreamLargeBothWays(t *testing.T) {
	a, b := pair(t)
	data := make([]byte, 24<<20)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}

	done := make(chan error, 2)
	for _, s := range []sock{a, b} {
		go func() {
			n, err := s.send(string(data))
			if err == nil && n != len(data) {
				err = errors.New("a send that waits was short")
			}
			done <- err
		}()

		go func() {
			got := make([]byte, 0, len(data))
			for len(got) < len(data) {
				part, err := s.recv(100_000, 0)
				if err != nil || part == "" {
					done <- errors.Join(err, errors.New("the end came early"))
					return
				}
				got = append(got, part...)
			}
			if !bytes.Equal(got, data) {
				done <- errors.New("other bytes came than were sent")
				return
			}

			done <- nil
		}()
	}

	for range 4 {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(3 * soon):
			t.Fatal("nothing comes any more")
		}
	}
}

// Overlapped calls end in the order in which they were made, whether they have to wait or not.
func TestStreamOrder(t *testing.T) {
	testrun.Once(t, testrun.Order)
	a, b := pair(t)
	receives := make([]*operation, 5)
	for i := range receives {
		receives[i] = newOperation(make([]byte, 2))
		receives[i].HEvent = event(t)
		if i == 2 {
			a.write("0011") // the first two may end; who asks now comes after them
		}
		if err := b.start(receives[i], true); err != nil && !errors.Is(err, windows.ERROR_IO_PENDING) {
			t.Fatal(err)
		}
	}

	a.write("223344end")
	for i, o := range receives {
		n, err := b.result(o)
		if want := string([]byte{'0' + byte(i), '0' + byte(i)}); err != nil || string(o.buffer[:n]) != want {
			t.Errorf("receive %d: %q, %v, want %q", i, o.buffer[:n], err, want)
		}
	}

	b.expect("end")

	// A large send is under way when a small one is made.
	large := newOperation(bytes.Repeat([]byte("x"), 24<<20))
	small := newOperation([]byte("last"))
	large.HEvent, small.HEvent = event(t), event(t)
	for _, o := range []*operation{large, small} {
		if err := a.start(o, false); err != nil && !errors.Is(err, windows.ERROR_IO_PENDING) {
			t.Fatal(err)
		}
	}

	b.expect(string(large.buffer) + "last")
	for _, o := range []*operation{large, small} {
		if n, err := a.result(o); err != nil || n != len(o.buffer) {
			t.Errorf("send of %d bytes: %d, %v", len(o.buffer), n, err)
		}
	}
}

func TestStreamEvent(t *testing.T) {
	a, b := pair(t)
	a.write("12")
	o := newOperation(make([]byte, 1))
	o.HEvent = event(t)
	for i := range 4 { // at once, at once, later, later: with one OVERLAPPED
		if i == 2 {
			time.AfterFunc(100*time.Millisecond, func() { _, _ = a.send("3") })
		}
		if i == 3 {
			time.AfterFunc(100*time.Millisecond, func() { _, _ = a.send("4") })
		}

		err := b.start(o, true)
		if err != nil && !errors.Is(err, windows.ERROR_IO_PENDING) {
			t.Fatal(err)
		}
		if !signaled(o.HEvent, soon) {
			t.Fatalf("receive %d does not signal its event (%v)", i, err)
		}

		if n, err := b.result(o); err != nil || n != 1 || o.buffer[0] != '1'+byte(i) {
			t.Errorf("receive %d: %d bytes, %q, %v", i, n, o.buffer, err)
		}
	}

	if err := b.start(o, true); !errors.Is(err, windows.ERROR_IO_PENDING) {
		t.Fatalf("receive without data: %v", err)
	}
	if signaled(o.HEvent, 50*time.Millisecond) {
		t.Error("the event of a receive is signaled while it waits")
	}
	if err := windows.CancelIoEx(b.s, &o.Overlapped); err != nil {
		t.Error(err)
	}

	_, err := b.result(o)
	fails(t, "the result of a receive that was cancelled", err, windows.ERROR_OPERATION_ABORTED)
}

func TestStreamSelectEvents(t *testing.T) {
	a, b := pair(t)
	a.write("before")
	b.expect("before")
	e := event(t)
	b.must(procEventSelect, uintptr(e), fdRead|fdWrite|fdClose)

	// events are those that came since the last call
	events := func() (all int) {
		for {
			if !signaled(e, 200*time.Millisecond) {
				return all
			}
			var record [11]int32
			b.must(procEnumEvents, uintptr(e), uintptr(unsafe.Pointer(&record)))
			all |= int(record[0])
		}
	}

	if got := events(); got&fdWrite == 0 || got&fdClose != 0 {
		t.Errorf("events at first: %#x", got)
	}

	for range 5 { // each receive makes FD_READ possible again
		a.write("ab")
		if got := events(); got != fdRead {
			t.Fatalf("events of data: %#x", got)
		}
		b.expect("a")
		if got := events(); got != fdRead {
			t.Fatalf("events of what is left: %#x", got)
		}
		b.expect("b")
	}

	_, err := b.recv(1, 0)
	fails(t, "recv without data", err, windows.WSAEWOULDBLOCK)
	a.must(procShutdown, sdSend)
	if got := events(); got != fdClose {
		t.Errorf("events of the end: %#x", got)
	}
}

func TestStreamSelect(t *testing.T) {
	a, b := pair(t)
	readable := func(d time.Duration) bool {
		set := struct {
			count uint32
			array [64]uintptr
		}{count: 1}

		set.array[0] = uintptr(b.s)
		limit := windows.Timeval{Sec: int32(d / time.Second), Usec: int32(d % time.Second / time.Microsecond)}
		n, _, err := procSelect.Call(0, uintptr(unsafe.Pointer(&set)), 0, 0, uintptr(unsafe.Pointer(&limit)))
		if int32(n) < 0 {
			t.Fatal(err)
		}

		return n == 1 && set.count == 1
	}

	for range 5 {
		if readable(10 * time.Millisecond) {
			t.Fatal("readable without data")
		}
		a.write("ab")
		if !readable(soon) {
			t.Fatal("not readable with data")
		}

		b.expect("a")
		if !readable(soon) {
			t.Fatal("not readable with what is left")
		}
		b.expect("b")
	}

	a.must(procShutdown, sdSend)
	if !readable(soon) {
		t.Error("not readable at the end")
	}
}

// What is served without Wine's server is faster than what is not: a socket whose events were asked for once.
func TestStreamSpeed(t *testing.T) {
	measure := func(a, b sock) time.Duration {
		begin := time.Now()
		for range 200 {
			a.write("ping")
			b.expect("ping")
		}
		return time.Since(begin)
	}

	a, b := pair(t)
	c, d := pair(t)
	for _, s := range []sock{c, d} {
		s.must(procEventSelect, 0, 0)
	}

	for _, s := range []sock{a, b} {
		s.nonblocking() // as WSAEventSelect makes the others
	}

	var here, wine []time.Duration
	for range 3 {
		here, wine = append(here, measure(a, b)), append(wine, measure(c, d))
	}

	fast, slow := slices.Min(here), slices.Min(wine)
	t.Logf("200 sends and receives: %v, by Wine's server %v", fast, slow)
	if fast*2 > slow {
		t.Error("less than twice as fast")
	}
}
