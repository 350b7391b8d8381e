package prog

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel           = windows.NewLazySystemDLL("kernel32.dll")
	procModes        = kernel.NewProc("SetFileCompletionNotificationModes")
	procCompletionEx = kernel.NewProc("GetQueuedCompletionStatusEx")
)

const skipOnSuccess = 1 // FILE_SKIP_COMPLETION_PORT_ON_SUCCESS

// completionPort is a completion port that sockets are bound to, with their handles as keys.
type completionPort struct {
	t *testing.T
	h windows.Handle
}

func newCompletionPort(t *testing.T) completionPort {
	t.Helper()
	h, err := windows.CreateIoCompletionPort(windows.InvalidHandle, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = windows.CloseHandle(h) })
	return completionPort{t, h}
}

func (p completionPort) bind(s sock, skips bool) {
	p.t.Helper()
	if _, err := windows.CreateIoCompletionPort(s.s, p.h, uintptr(s.s), 0); err != nil {
		p.t.Fatal(err)
	}
	if skips {
		if ok, _, err := procModes.Call(uintptr(s.s), skipOnSuccess); ok == 0 {
			p.t.Fatal(err)
		}
	}
}

// next returns the next completion: of which operation, and with how many bytes. nil: none came.
func (p completionPort) next(d time.Duration) (*operation, int, error) {
	var n uint32
	var key uintptr
	var o *windows.Overlapped
	err := windows.GetQueuedCompletionStatus(p.h, &n, &key, &o, uint32(d.Milliseconds()))
	return (*operation)(unsafe.Pointer(o)), int(n), err
}

func (p completionPort) empty() {
	p.t.Helper()
	if o, n, err := p.next(100 * time.Millisecond); o != nil || !errors.Is(err, windows.Errno(windows.WAIT_TIMEOUT)) {
		p.t.Errorf("a completion of %d bytes that nobody asked for: %v, %v", n, o, err)
	}
}

// A port is told of each call but, with the mode to skip, of those that succeed at once.
func TestStreamPort(t *testing.T) {
	for _, skips := range []bool{true, false} {
		t.Run(fmt.Sprintf("skips=%t", skips), func(t *testing.T) {
			a, b := pair(t)
			p := newCompletionPort(t)
			p.bind(a, skips)
			p.bind(b, skips)
			for i := range 20 {
				now := i%2 == 0 // the data is there before it is asked for
				text := fmt.Sprintf("message %2d", i)
				in := newOperation(make([]byte, 100))
				out := newOperation([]byte(text))
				if now {
					a.write(text)
				}

				received := b.start(in, true)
				if now != (received == nil) {
					t.Fatalf("receive %d: %v", i, received)
				}

				want := map[*operation]bool{in: !now || !skips}
				if !now {
					if err := a.start(out, false); err != nil {
						t.Fatal(err)
					}
					want[out] = !skips
				}

				for o, comes := range want {
					if !comes {
						delete(want, o)
					}
				}

				for len(want) > 0 {
					o, n, err := p.next(soon)
					if !want[o] || n != len(text) || err != nil {
						t.Fatalf("completion %d: %p, %d bytes, %v; want one of %v", i, o, n, err, want)
					}
					delete(want, o)
				}

				if got := string(in.buffer[:in.InternalHigh]); got != text || in.Internal != 0 {
					t.Fatalf("receive %d: %q, status %#x", i, got, in.Internal)
				}
				if i%8 == 0 { // it takes time
					p.empty()
				}
			}

			p.empty()
		})
	}
}

// expect takes the completion of an operation from the port.
func (p completionPort) expect(want *operation, bytes int) {
	p.t.Helper()
	o, n, err := p.next(soon)
	if o != want || n != bytes || err != nil {
		p.t.Fatalf("completion: %p, %d bytes, %v; want %p, %d bytes", o, n, err, want, bytes)
	}
}

// What libuv does: a receive of no bytes waits for data, which is then received without waiting.
func TestStreamZeroBytes(t *testing.T) {
	a, b := pair(t)
	p := newCompletionPort(t)
	b.nonblocking()
	p.bind(b, true)
	wait := newOperation(nil)
	for i := range 30 {
		text := fmt.Sprintf("message %d", i)
		if i%3 == 0 { // there before it is waited for
			a.write(text)
		}

		err := b.start(wait, true)
		if i%3 != 0 {
			if !errors.Is(err, windows.ERROR_IO_PENDING) {
				t.Fatalf("wait %d: %v", i, err)
			}
			a.write(text)
			p.expect(wait, 0)
		} else if err != nil {
			t.Fatalf("wait %d: %v", i, err)
		}

		if got, err := b.recv(100, 0); err != nil || got != text {
			t.Fatalf("receive %d: %q, %v", i, got, err)
		}
		_, err = b.recv(100, 0)
		fails(t, "recv without data", err, windows.WSAEWOULDBLOCK)
		if n, err := b.send(text); err != nil || n != len(text) {
			t.Fatalf("send %d: %d, %v", i, n, err)
		}
		a.expect(text)
	}

	p.empty()
	if err := b.start(wait, true); !errors.Is(err, windows.ERROR_IO_PENDING) {
		t.Fatal(err)
	}
	a.must(procShutdown, sdSend)
	p.expect(wait, 0)
	if got, err := b.recv(100, 0); err != nil || got != "" {
		t.Errorf("at the end: %q, %v", got, err)
	}
}

// Several receives wait at a time, on one port that several threads serve, and large amounts go both ways.
func TestStreamManyThreads(t *testing.T) {
	const pairs, threads, messages, size = 6, 4, 60, 40_000
	p := newCompletionPort(t)
	type end struct {
		sock
		got   []byte
		calls int
	}

	ends := map[windows.Handle]*end{}
	var streams []*end
	for range pairs {
		a, b := pair(t)
		for _, s := range []sock{a, b} {
			p.bind(s, true)
			e := &end{sock: s}
			ends[s.s] = e
			streams = append(streams, e)
		}
	}

	want := func(i int) []byte {
		data := make([]byte, size)
		for j := range data {
			data[j] = byte(i*7 + j)
		}
		return data
	}

	var all sync.WaitGroup
	all.Add(len(streams))
	failed := make(chan error, 100)

	// receive asks until an answer has to come by the port, and returns whether all has come.
	receive := func(e *end, o *operation) bool {
		for {
			err := e.start(o, true)
			if errors.Is(err, windows.ERROR_IO_PENDING) {
				return false
			}
			if err != nil || o.InternalHigh == 0 {
				failed <- fmt.Errorf("receive: %d bytes, %w", o.InternalHigh, err)
				return true
			}

			e.got = append(e.got, o.buffer[:o.InternalHigh]...)
			if len(e.got) >= messages*size {
				return true
			}
		}
	}

	for range threads {
		go func() {
			for {
				var n uint32
				var key uintptr
				var o *windows.Overlapped
				err := windows.GetQueuedCompletionStatus(p.h, &n, &key, &o, windows.INFINITE)
				if err != nil && o == nil {
					return
				}

				e := ends[windows.Handle(key)]
				op := (*operation)(unsafe.Pointer(o))
				if e == nil {
					return
				}
				if len(op.buffer) == size { // a send
					continue
				}

				e.got = append(e.got, op.buffer[:n]...)
				if len(e.got) >= messages*size || receive(e, op) {
					all.Done()
				}
			}
		}()
	}

	for _, e := range streams {
		o := newOperation(make([]byte, 7000))
		if receive(e, o) {
			t.Fatal("data before any was sent")
		}
	}

	for _, e := range streams {
		go func() {
			for i := range messages {
				o := newOperation(want(i))
				if err := e.start(o, false); err != nil && !errors.Is(err, windows.ERROR_IO_PENDING) {
					failed <- fmt.Errorf("send %d: %w", i, err)
				}
			}
		}()
	}

	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()

	select {
	case err := <-failed:
		t.Fatal(err)
	case <-time.After(4 * soon):
		t.Fatal("not all has come")
	case <-done:
	}

	for _, e := range streams {
		for i := range messages {
			if part := e.got[i*size : (i+1)*size]; !bytes.Equal(part, want(i)) {
				t.Fatalf("message %d of a stream is another", i)
			}
		}
	}

	for range threads {
		if err := windows.PostQueuedCompletionStatus(p.h, 0, 0, nil); err != nil {
			t.Error(err)
		}
	}
}

func TestStreamPortEx(t *testing.T) {
	a, b := pair(t)
	p := newCompletionPort(t)
	p.bind(b, true)
	var receives []*operation
	for range 3 {
		o := newOperation(make([]byte, 2))
		receives = append(receives, o)
		if err := b.start(o, true); !errors.Is(err, windows.ERROR_IO_PENDING) {
			t.Fatal(err)
		}
	}

	a.write("001122")
	var got []*operation
	for len(got) < 3 {
		var entries [8]struct {
			key      uintptr
			o        *operation
			internal uintptr
			n        uint32
		}

		var n uint32
		ok, _, err := procCompletionEx.Call(uintptr(p.h), uintptr(unsafe.Pointer(&entries)), uintptr(len(entries)),
			uintptr(unsafe.Pointer(&n)), uintptr(soon.Milliseconds()), 0)
		if ok == 0 {
			t.Fatal(err)
		}
		for _, e := range entries[:n] {
			got = append(got, e.o)
		}
	}

	for i, o := range receives {
		if want := fmt.Sprintf("%d%d", i, i); got[i] != o || string(o.buffer) != want {
			t.Errorf("receive %d: %q, want %q", i, o.buffer, want)
		}
	}

	a.write("33") // nothing is under way any more
	if err := b.start(receives[0], true); err != nil || string(receives[0].buffer) != "33" {
		t.Errorf("receive at once: %q, %v", receives[0].buffer, err)
	}
	p.empty()
}
