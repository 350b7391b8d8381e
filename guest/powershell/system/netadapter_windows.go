package system

import (
	"errors"
	"net/netip"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// adapters returns the network adapters and their addresses.
func adapters() ([]Adapter, error) {
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

		var all []Adapter
		for a := first; a != nil; a = a.Next {
			all = append(all, adapterOf(a))
		}

		return all, nil
	}
}

func adapterOf(a *windows.IpAdapterAddresses) Adapter {
	is := Adapter{
		Name:        windows.UTF16PtrToString(a.FriendlyName),
		Description: windows.UTF16PtrToString(a.Description),
		GUID:        windows.BytePtrToString(a.AdapterName),
		Index:       int64(a.IfIndex),
		MAC:         append([]byte{}, a.PhysicalAddress[:a.PhysicalAddressLength]...),
		Up:          a.OperStatus == windows.IfOperStatusUp,
		Loopback:    a.IfType == windows.IF_TYPE_SOFTWARE_LOOPBACK,
		Speed:       a.TransmitLinkSpeed,
		MTU:         int64(a.Mtu),
	}
	if is.Index == 0 {
		is.Index = int64(a.Ipv6IfIndex)
	}

	for u := a.FirstUnicastAddress; u != nil; u = u.Next {
		addr, ok := netip.AddrFromSlice(u.Address.IP())
		if !ok {
			continue
		}

		x := AdapterAddress{
			Addr:      addr.Unmap(),
			Bits:      int64(u.OnLinkPrefixLength),
			Prefix:    int64(u.PrefixOrigin),
			Suffix:    int64(u.SuffixOrigin),
			State:     int64(u.DadState),
			Valid:     lasting(u.ValidLifetime),
			Preferred: lasting(u.PreferredLifetime),
		}
		if x.Addr.Is6() && x.Addr.IsLinkLocalUnicast() {
			x.Addr = x.Addr.WithZone(scopeOf(u.Address))
		}

		is.Addrs = append(is.Addrs, x)
	}

	for s := a.FirstDnsServerAddress; s != nil; s = s.Next {
		if addr, ok := netip.AddrFromSlice(s.Address.IP()); ok {
			is.DNS = append(is.DNS, addr.Unmap())
		}
	}
	return is
}

// scopeOf returns the number of the interface that a link-local address belongs to.
func scopeOf(at windows.SocketAddress) string {
	if sa, err := at.Sockaddr.Sockaddr(); err == nil {
		if six, ok := sa.(*syscall.SockaddrInet6); ok {
			return strconv.FormatUint(uint64(six.ZoneId), 10)
		}
	}
	return ""
}

// lasting returns a lifetime in seconds; the largest is without end.
func lasting(seconds uint32) time.Duration {
	if seconds == 1<<32-1 {
		return Infinite
	}
	return time.Duration(seconds) * time.Second
}
