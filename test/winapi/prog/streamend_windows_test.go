package prog

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/internal/base/testrun"
)

func TestStreamEnds(t *testing.T) {
	a, b := pair(t)
	a.write("x")
	b.write("y")
	b.expect("x")
	a.must(procShutdown, sdSend)
	_, err := a.send("z")
	fails(t, "send after SD_SEND", err, windows.Errno(10058)) // WSAESHUTDOWN
	if got, err := b.recv(1, 0); err != nil || got != "" {
		t.Errorf("after the peer's SD_SEND: %q, %v", got, err)
	}

	b.write("half") // half-closed: the other way stays
	a.expect("yhalf")
	b.must(procShutdown, sdReceive)
	_, err = b.recv(1, 0)
	fails(t, "recv after SD_RECEIVE", err, windows.Errno(10058))

	a, b = pair(t) // RST
	a.write("x")
	b.expect("x")
	linger := [2]uint16{1, 0}
	a.must(procSetsockopt, windows.SOL_SOCKET, soLinger, uintptr(unsafe.Pointer(&linger)), 4)
	if err := windows.Closesocket(a.s); err != nil {
		t.Fatal(err)
	}

	// Wine's server may have taken the error from Linux before, which tells it once.
	if got, err := b.recv(1, 0); got != "" || (err != nil && !errors.Is(err, windows.WSAECONNRESET)) {
		t.Errorf("recv after RST: %q, %v", got, err)
	}
	_, err = b.send("x")
	fails(t, "send after RST", err, windows.WSAECONNRESET)

	a, b = pair(t) // the last of a connection comes when its socket is closed, and it is closed for the peer
	a.write("last")
	if err := windows.Closesocket(a.s); err != nil {
		t.Fatal(err)
	}
	b.expect("last")
	if got, err := b.recv(1, 0); err != nil || got != "" {
		t.Errorf("after the peer has closed: %q, %v", got, err)
	}

	_, err = a.recv(1, 0)
	fails(t, "recv on a socket that was closed", err, windows.Errno(10038)) // WSAENOTSOCK
}

func TestStreamTimeout(t *testing.T) {
	a, b := pair(t)
	ms := uint32(200)
	b.must(procSetsockopt, windows.SOL_SOCKET, soRcvtimeo, uintptr(unsafe.Pointer(&ms)), 4)
	for range 2 {
		begin := time.Now()
		_, err := b.recv(1, 0)
		fails(t, "recv with SO_RCVTIMEO", err, windows.Errno(10060)) // WSAETIMEDOUT
		if d := time.Since(begin); d < 150*time.Millisecond {
			t.Errorf("it timed out after %v", d)
		}
		a.write("x")
		b.expect("x")
	}
}

func TestStreamCloseWhileReceiving(t *testing.T) {
	testrun.Once(t, testrun.Race)
	a, b := pair(t)
	a.write("x")
	b.expect("x")
	o := newOperation(make([]byte, 1))
	o.HEvent = event(t)
	if err := b.start(o, true); !errors.Is(err, windows.ERROR_IO_PENDING) {
		t.Fatal(err)
	}

	blocked := make(chan error)
	go func() {
		_, err := a.recv(1, 0)
		blocked <- err
	}()
	time.Sleep(100 * time.Millisecond)
	if err := windows.Closesocket(b.s); err != nil {
		t.Fatal(err)
	}

	if !signaled(o.HEvent, soon) {
		t.Error("a receive does not end when its socket is closed")
	}

	select {
	case err := <-blocked: // the other end sees the end, though a receive was under way
		if err != nil {
			t.Error(err)
		}
	case <-time.After(soon):
		t.Error("the peer does not see the end of the connection")
	}
}

// A child that has inherited a socket receives and sends, and the parent goes on after it.
func TestStreamInherited(t *testing.T) {
	a, b := pair(t)
	a.write("parent.child")
	b.expect("parent")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStreamChild$")
	cmd.Env = append(os.Environ(), "STREAM_CHILD="+strconv.Itoa(int(b.s)))
	if err := windows.SetHandleInformation(b.s, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT); err != nil {
		t.Fatal(err)
	}

	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: []syscall.Handle{syscall.Handle(b.s)}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	a.expect("from the child")
	a.write("after")
	b.expect("after")
	b.write("too")
	a.expect("too")
}

// TestStreamChild is the child of TestStreamInherited.
func TestStreamChild(t *testing.T) {
	handle, err := strconv.Atoi(os.Getenv("STREAM_CHILD"))
	if err != nil {
		t.Skip("a child of another test")
	}
	s := sock{t, windows.Handle(handle)}
	s.expect(".child")
	var n uint32 // send of Wine 8.0 refuses a socket that is inherited
	if err := windows.WriteFile(s.s, []byte("from the child"), &n, nil); err != nil || n != 14 {
		t.Fatal(n, err)
	}
}
