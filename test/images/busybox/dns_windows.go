package main

import (
	"fmt"
	"net/netip"
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"
)

// systemResolver asks Windows for the DNS servers and suffixes of the adapters that are up.
func systemResolver() (resolver, error) {
	var r resolver
	size := uint32(15000) // what GetAdaptersAddresses' page recommends to begin with
	for {
		buf := make([]byte, size)
		first := (*windows.IpAdapterAddresses)(unsafe.Pointer(&buf[0])) // the call fills the buffer with this structure
		err := windows.GetAdaptersAddresses(windows.AF_UNSPEC,
			windows.GAA_FLAG_SKIP_ANYCAST|windows.GAA_FLAG_SKIP_MULTICAST, 0, first, &size)
		if err == windows.ERROR_BUFFER_OVERFLOW { //nolint:errorlint // the call returns the number itself
			continue
		}

		if err != nil {
			return r, fmt.Errorf("GetAdaptersAddresses: %w", err)
		}
		for a := first; a != nil; a = a.Next {
			r.add(a)
		}

		return r, nil
	}
}

func (r *resolver) add(a *windows.IpAdapterAddresses) {
	if a.OperStatus != windows.IfOperStatusUp {
		return
	}

	for s := a.FirstDnsServerAddress; s != nil; s = s.Next {
		ip, ok := netip.AddrFromSlice(s.Address.IP())
		server := netip.AddrPortFrom(ip.Unmap(), 53)
		if ok && !slices.Contains(r.servers, server) {
			r.servers = append(r.servers, server)
		}
	}

	if suffix := windows.UTF16PtrToString(a.DnsSuffix); suffix != "" && !slices.Contains(r.search, suffix) {
		r.search = append(r.search, suffix)
	}
	for s := a.FirstDnsSuffix; s != nil; s = s.Next {
		if suffix := windows.UTF16ToString(s.String[:]); suffix != "" && !slices.Contains(r.search, suffix) {
			r.search = append(r.search, suffix)
		}
	}
}
