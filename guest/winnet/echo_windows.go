package winnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// replyRoom is how much room an answer takes beside its bytes: more than the structures of both families, with an error
// of ICMP and what Windows keeps there itself.
const replyRoom = 256

// option is IP_OPTION_INFORMATION: an array of four bytes, and a pointer to options.
type option struct {
	ttl, tos, flags, size uint8
	data                  *byte
}

// SendEcho sends a ping, and waits for the answer. One that does not come is no error: its status tells.
func SendEcho(to netip.Addr, p Ping) (Echo, error) {
	six := to.Is6() && !to.Is4In6()
	dll := windows.NewLazySystemDLL("iphlpapi.dll")
	open, send := dll.NewProc("IcmpCreateFile"), dll.NewProc("IcmpSendEcho")
	if six {
		open, send = dll.NewProc("Icmp6CreateFile"), dll.NewProc("Icmp6SendEcho2")
	}
	for _, call := range []*windows.LazyProc{open, send} {
		if err := call.Find(); err != nil {
			return Echo{}, err
		}
	}

	h, _, err := open.Call()
	if windows.Handle(h) == windows.InvalidHandle {
		return Echo{}, fmt.Errorf("open ICMP: %w", err)
	}
	defer dll.NewProc("IcmpCloseHandle").Call(h) //nolint:errcheck // nothing is lost by it

	data := make([]byte, max(p.Size, 1))
	for i := range data {
		data[i] = 'a' + byte(i%23) // as ping.exe fills it
	}
	reply := make([]byte, replyRoom+2*len(data))
	options := option{ttl: uint8(min(p.TTL, 255))}
	wait := uintptr(p.Patience.Milliseconds())

	var count uintptr
	if six {
		from, dest := windows.RawSockaddrInet6{Family: windows.AF_INET6}, sockaddr6(to)
		count, _, err = send.Call(h, 0, 0, 0, uintptr(unsafe.Pointer(&from)), uintptr(unsafe.Pointer(&dest)),
			uintptr(unsafe.Pointer(&data[0])), uintptr(p.Size), uintptr(unsafe.Pointer(&options)),
			uintptr(unsafe.Pointer(&reply[0])), uintptr(len(reply)), wait)
	} else {
		four := to.Unmap().As4()
		count, _, err = send.Call(h, uintptr(binary.LittleEndian.Uint32(four[:])), uintptr(unsafe.Pointer(&data[0])),
			uintptr(p.Size), uintptr(unsafe.Pointer(&options)), uintptr(unsafe.Pointer(&reply[0])), uintptr(len(reply)),
			wait)
	}
	runtime.KeepAlive(data)

	if count == 0 {
		if number, is := errors.AsType[syscall.Errno](err); is && number > statusBase {
			return Echo{Status: uint32(number)}, nil
		}
		return Echo{}, fmt.Errorf("send a ping: %w", err)
	}
	return replyOf(reply, six), nil
}

// statusBase is below all numbers by which ICMP says what went wrong (IP_STATUS_BASE).
const statusBase = 11000

// replyOf reads ICMP_ECHO_REPLY, which begins with the address, or ICMPV6_ECHO_REPLY: the latter has no TTL, and its
// address is behind the port and the flow.
func replyOf(reply []byte, six bool) Echo {
	number := func(at int) uint32 { return binary.LittleEndian.Uint32(reply[at:]) }
	if six {
		const from, status, took = 6, 28, 32 // behind an address of 26 bytes
		return Echo{
			From: netip.AddrFrom16([16]byte(reply[from : from+16])), Status: number(status),
			Took: time.Duration(number(took)) * time.Millisecond,
		}
	}
	const status, took = 4, 8
	ttl := 16 + int(unsafe.Sizeof(uintptr(0))) // behind the pointer to the bytes
	return Echo{
		From:   netip.AddrFrom4([4]byte(reply[:4])),
		Status: number(status),
		Took:   time.Duration(number(took)) * time.Millisecond,
		TTL:    int(reply[ttl]),
	}
}

func sockaddr6(a netip.Addr) windows.RawSockaddrInet6 {
	to := windows.RawSockaddrInet6{Family: windows.AF_INET6, Addr: a.As16()}
	if n, err := strconv.ParseUint(a.Zone(), 10, 32); err == nil {
		to.Scope_id = uint32(n)
	}
	return to
}
