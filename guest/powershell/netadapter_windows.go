package powershell

import (
	"errors"
	"net/netip"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// adapters are the network adapters and their addresses.
func adapters() ([]adapter, error) {
	size := uint32(15000) // Microsoft's advice for the first call
	for {
		buffer := make([]byte, size)
		first := (*windows.IpAdapterAddresses)(unsafe.Pointer(&buffer[0]))
		err := windows.GetAdaptersAddresses(windows.AF_UNSPEC, 0, 0, first, &size)
		switch {
		case errors.Is(err, windows.ERROR_NO_DATA):
			return nil, nil
		case errors.Is(err, windows.ERROR_BUFFER_OVERFLOW) && int(size) > len(buffer):
			continue
		case err != nil:
			return nil, err
		}
		var all []adapter
		for a := first; a != nil; a = a.Next {
			all = append(all, adapterOf(a))
		}
		return all, nil
	}
}

func adapterOf(a *windows.IpAdapterAddresses) adapter {
	is := adapter{
		name:        windows.UTF16PtrToString(a.FriendlyName),
		description: windows.UTF16PtrToString(a.Description),
		guid:        windows.BytePtrToString(a.AdapterName),
		index:       int64(a.IfIndex),
		mac:         append([]byte{}, a.PhysicalAddress[:a.PhysicalAddressLength]...),
		up:          a.OperStatus == windows.IfOperStatusUp,
		loopback:    a.IfType == windows.IF_TYPE_SOFTWARE_LOOPBACK,
		speed:       a.TransmitLinkSpeed,
		mtu:         int64(a.Mtu),
	}
	if is.index == 0 {
		is.index = int64(a.Ipv6IfIndex)
	}
	for u := a.FirstUnicastAddress; u != nil; u = u.Next {
		addr, ok := netip.AddrFromSlice(u.Address.IP())
		if !ok {
			continue
		}
		x := adapterAddress{
			addr:      addr.Unmap(),
			bits:      int64(u.OnLinkPrefixLength),
			prefix:    int64(u.PrefixOrigin),
			suffix:    int64(u.SuffixOrigin),
			state:     int64(u.DadState),
			valid:     lasting(u.ValidLifetime),
			preferred: lasting(u.PreferredLifetime),
		}
		if x.addr.Is6() && x.addr.IsLinkLocalUnicast() {
			x.addr = x.addr.WithZone(scopeOf(u.Address))
		}
		is.addrs = append(is.addrs, x)
	}
	return is
}

// scopeOf is the number of the interface that a link-local address belongs to.
func scopeOf(at windows.SocketAddress) string {
	if sa, err := at.Sockaddr.Sockaddr(); err == nil {
		if six, ok := sa.(*syscall.SockaddrInet6); ok {
			return strconv.FormatUint(uint64(six.ZoneId), 10)
		}
	}
	return ""
}

// lasting is a lifetime in seconds; the largest is without end.
func lasting(seconds uint32) time.Duration {
	if seconds == 1<<32-1 {
		return infinite
	}
	return time.Duration(seconds) * time.Second
}
