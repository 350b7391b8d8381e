package prog

import (
	"net/netip"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Statuses of ipexport.h.
const (
	ipSuccess        = 0
	ipRequestTimeout = 11010
)

// echoReply is ICMPV6_ECHO_REPLY of ipexport.h, whose address is packed, with room for data behind it.
type echoReply struct {
	port      [2]byte
	flow      [4]byte
	address   [16]byte
	scope     [4]byte
	status    uint32
	roundTrip uint32
	data      [64]byte
}

// icmp6 opens a handle for requests over IPv6.
func icmp6(t *testing.T) (handle uintptr, send *windows.LazyProc) {
	t.Helper()
	lib := windows.NewLazySystemDLL("iphlpapi.dll")
	handle, _, err := lib.NewProc("Icmp6CreateFile").Call()
	if windows.Handle(handle) == windows.InvalidHandle {
		t.Fatalf("Icmp6CreateFile: %v", err)
	}
	t.Cleanup(func() {
		if ok, _, err := lib.NewProc("IcmpCloseHandle").Call(handle); ok == 0 {
			t.Errorf("IcmpCloseHandle: %v", err)
		}
	})
	return handle, lib.NewProc("Icmp6SendEcho2")
}

// echo6 sends a request; with an event in the background.
func echo6(handle uintptr, send *windows.LazyProc, event windows.Handle, to string, data []byte, reply *echoReply,
	timeout uintptr,
) (uintptr, windows.Errno) {
	from, target := windows.RawSockaddrInet6{Family: windows.AF_INET6}, windows.RawSockaddrInet6{
		Family: windows.AF_INET6,
		Addr:   netip.MustParseAddr(to).As16(),
	}
	n, _, err := send.Call(handle, uintptr(event), 0, 0, uintptr(unsafe.Pointer(&from)),
		uintptr(unsafe.Pointer(&target)), uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)),
		0, uintptr(unsafe.Pointer(reply)), unsafe.Sizeof(*reply), timeout)
	code, _ := err.(windows.Errno)
	return n, code
}

func checkEcho(t *testing.T, reply *echoReply, data string) {
	t.Helper()
	if reply.status != ipSuccess || netip.AddrFrom16(reply.address).String() != "::1" ||
		string(reply.data[:len(data)]) != data {
		t.Errorf("status %d of %s with %q, want %q of ::1", reply.status, netip.AddrFrom16(reply.address),
			reply.data[:len(data)], data)
	}
}

func TestEcho6(t *testing.T) {
	handle, send := icmp6(t)
	for _, data := range []string{"first", "and a second one"} {
		var reply echoReply
		if n, err := echo6(handle, send, 0, "::1", []byte(data), &reply, 5000); n != 1 {
			t.Fatalf("%d answers: %v", n, err)
		}
		checkEcho(t, &reply, data)
	}

	// A reply that has no room for its data has as much of it as there is room for.
	var reply echoReply
	if n, err := echo6(handle, send, 0, "::1", make([]byte, 4000), &reply, 5000); n != 1 || reply.status != ipSuccess {
		t.Errorf("%d answers of status %d: %v", n, reply.status, err)
	}
	if n, _, err := send.Call(handle, 0, 0, 0, 0, 0, 0, 0, 0, uintptr(unsafe.Pointer(&reply)), unsafe.Sizeof(reply),
		100); n != 0 || err != windows.ERROR_INVALID_PARAMETER {
		t.Errorf("without an address: %d, %v", n, err)
	}
}

func TestEcho6InBackground(t *testing.T) {
	handle, send := icmp6(t)
	event, err := windows.CreateEvent(nil, 0, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = windows.CloseHandle(event) }()
	reply := &echoReply{status: ipRequestTimeout}
	if n, code := echo6(handle, send, event, "::1", []byte("later"), reply, 5000); n != 0 ||
		code != windows.ERROR_IO_PENDING {
		t.Fatalf("%d, %v; want ERROR_IO_PENDING", n, code)
	}

	if got, err := windows.WaitForSingleObject(event, 10_000); err != nil || got != windows.WAIT_OBJECT_0 {
		t.Fatalf("waited: %d, %v", got, err)
	}
	checkEcho(t, reply, "later")
}
