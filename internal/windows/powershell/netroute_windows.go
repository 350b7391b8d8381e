package powershell

import (
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/windows"
)

// routes are Windows' routes of both families.
func routes() ([]route, error) {
	var table *windows.MibIpForwardTable2
	if err := windows.GetIpForwardTable2(windows.AF_UNSPEC, &table); err != nil {
		return nil, fmt.Errorf("list the routes: %w", err)
	}
	defer windows.FreeMibTable(unsafe.Pointer(table))
	var all []route
	for _, r := range table.Rows() {
		to, hop := addressOf(&r.DestinationPrefix.Prefix), addressOf(&r.NextHop)
		if !to.IsValid() {
			continue
		}
		if !hop.IsValid() { // the route leads to the interface itself
			hop = netip.IPv4Unspecified()
			if to.Is6() {
				hop = netip.IPv6Unspecified()
			}
		}
		all = append(all, route{
			index:   int64(r.InterfaceIndex),
			prefix:  netip.PrefixFrom(to, int(r.DestinationPrefix.PrefixLength)),
			hop:     hop,
			metric:  int64(r.Metric),
			publish: r.Publish != 0,
		})
	}
	return all, nil
}

// addressOf is the address in a SOCKADDR_INET, invalid if it has none.
func addressOf(at *windows.RawSockaddrInet) netip.Addr {
	switch at.Family {
	case windows.AF_INET:
		return netip.AddrFrom4((*windows.RawSockaddrInet4)(unsafe.Pointer(at)).Addr)
	case windows.AF_INET6:
		return netip.AddrFrom16((*windows.RawSockaddrInet6)(unsafe.Pointer(at)).Addr)
	}
	return netip.Addr{}
}
