package program

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// HostName returns the computer's name in DNS.
func HostName() string {
	name := make([]uint16, 256)
	size := uint32(len(name))
	if windows.GetComputerNameEx(windows.ComputerNameDnsHostname, &name[0], &size) != nil {
		return ""
	}
	return windows.UTF16ToString(name)
}

// ComputerName returns the computer's name.
func ComputerName() string {
	name, err := windows.ComputerName()
	if err != nil {
		return ""
	}
	return name
}

// Count returns how many of a kind of processor there are, 0 if it is not known.
func Count(kind Processors) (n int) {
	const sizeAt = 4 // where a record has its size
	call := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetLogicalProcessorInformationEx")
	var size uint32
	_, _, _ = call.Call(uintptr(kind), 0, uintptr(unsafe.Pointer(&size))) // says the size
	if size == 0 {
		return 0
	}

	buffer := make([]byte, size)
	ok, _, _ := call.Call(uintptr(kind), uintptr(unsafe.Pointer(&buffer[0])), uintptr(unsafe.Pointer(&size)))
	if ok == 0 {
		return 0
	}

	for at := uint32(0); at+sizeAt < size; n++ {
		step := *(*uint32)(unsafe.Pointer(&buffer[at+sizeAt]))
		if step == 0 {
			return n
		}
		at += step
	}

	return n
}

// Adapters returns the adapters, the loopback among them. The error may be the number of a Windows error.
func Adapters() ([]Adapter, error) {
	buffer, err := adapterRecords()
	if err != nil {
		return nil, fmt.Errorf("list adapters: %w", err)
	}
	var found []Adapter
	for r := (*windows.IpAdapterAddresses)(unsafe.Pointer(&buffer[0])); r != nil; r = r.Next {
		found = append(found, newAdapter(r))
	}
	return found, nil
}

// adapterRecords returns a buffer that GetAdaptersAddresses has filled.
func adapterRecords() ([]byte, error) {
	const flags = windows.GAA_FLAG_INCLUDE_GATEWAYS
	size := uint32(16 << 10)
	for {
		buffer := make([]byte, size)
		err := windows.GetAdaptersAddresses(windows.AF_UNSPEC, flags, 0,
			(*windows.IpAdapterAddresses)(unsafe.Pointer(&buffer[0])), &size)
		if !errors.Is(err, windows.ERROR_BUFFER_OVERFLOW) || int(size) <= len(buffer) {
			return buffer, err
		}
	}
}

func newAdapter(r *windows.IpAdapterAddresses) Adapter {
	const dhcp = 0x4 // IP_ADAPTER_DHCP_ENABLED
	a := Adapter{
		Index:       cmp.Or(r.IfIndex, r.Ipv6IfIndex),
		MTU:         r.Mtu,
		Metric:      r.Ipv4Metric,
		Name:        windows.UTF16PtrToString(r.FriendlyName),
		Description: windows.UTF16PtrToString(r.Description),
		Suffix:      strings.Trim(windows.UTF16PtrToString(r.DnsSuffix), "."), // "." is the root alone
		Hardware:    net.HardwareAddr(r.PhysicalAddress[:min(int(r.PhysicalAddressLength), len(r.PhysicalAddress))]),
		Loopback:    r.IfType == windows.IF_TYPE_SOFTWARE_LOOPBACK,
		Up:          r.OperStatus == windows.IfOperStatusUp,
		DHCP:        r.Flags&dhcp != 0,
	}

	for u := r.FirstUnicastAddress; u != nil; u = u.Next {
		a.Addresses = append(a.Addresses, Address{IP: addrOf(u.Address), Bits: int(u.OnLinkPrefixLength)})
	}

	for g := r.FirstGatewayAddress; g != nil; g = g.Next {
		a.Gateways = append(a.Gateways, addrOf(g.Address))
	}

	for s := r.FirstDnsServerAddress; s != nil; s = s.Next {
		a.Servers = append(a.Servers, addrOf(s.Address))
	}

	return a
}

// addrOf returns the address in a socket's address, with the number of its interface as the zone.
func addrOf(s windows.SocketAddress) netip.Addr {
	addr, ok := netip.AddrFromSlice(s.IP())
	if !ok || addr.Is4() {
		return addr
	}
	if scope := (*windows.RawSockaddrInet6)(unsafe.Pointer(s.Sockaddr)).Scope_id; scope != 0 {
		addr = addr.WithZone(strconv.FormatUint(uint64(scope), 10))
	}
	return addr
}

// RunOfWine runs one of Wine's own programs, which lies in the folder of the system, and returns its exit code.
func RunOfWine(e Env, program string, args []string) (int, error) {
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(filepath.Join(system, program), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.Stdin, e.Stdout, e.Stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}
