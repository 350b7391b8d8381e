package winnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/windows"
)

func iphlpapi(name string) *windows.LazyProc {
	return windows.NewLazySystemDLL("iphlpapi.dll").NewProc(name)
}

// Routes returns the routes of both families.
func Routes() ([]Route, error) {
	var table *windows.MibIpForwardTable2
	if err := windows.GetIpForwardTable2(windows.AF_UNSPEC, &table); err != nil {
		return nil, fmt.Errorf("list the routes: %w", err)
	}
	defer windows.FreeMibTable(unsafe.Pointer(table))

	var all []Route
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

		all = append(all, Route{
			Index:   r.InterfaceIndex,
			Prefix:  netip.PrefixFrom(to, int(r.DestinationPrefix.PrefixLength)),
			Hop:     hop,
			Metric:  r.Metric,
			Publish: r.Publish != 0,
		})
	}

	return all, nil
}

// addressOf returns the address in a SOCKADDR_INET, invalid if it has none.
func addressOf(at *windows.RawSockaddrInet) netip.Addr {
	switch at.Family {
	case windows.AF_INET:
		return netip.AddrFrom4((*windows.RawSockaddrInet4)(unsafe.Pointer(at)).Addr)
	case windows.AF_INET6:
		return netip.AddrFrom16((*windows.RawSockaddrInet6)(unsafe.Pointer(at)).Addr)
	}
	return netip.Addr{}
}

// Sockets returns the sockets of TCP and UDP, in the order of the tables of Windows.
func Sockets() ([]Socket, error) {
	var all []Socket
	for _, t := range []struct {
		call   string
		family uintptr
		class  uintptr // TCP_TABLE_OWNER_PID_ALL, UDP_TABLE_OWNER_PID
		size   int     // of a row
		read   func(row []byte) Socket
	}{
		{"GetExtendedTcpTable", windows.AF_INET, 5, 24, tcp4},
		{"GetExtendedTcpTable", windows.AF_INET6, 5, 56, tcp6},
		{"GetExtendedUdpTable", windows.AF_INET, 1, 12, udp4},
		{"GetExtendedUdpTable", windows.AF_INET6, 1, 28, udp6},
	} {
		table, err := socketTable(t.call, t.family, t.class)
		if err != nil {
			return nil, fmt.Errorf("list the sockets: %w", err)
		}
		rows := int(binary.LittleEndian.Uint32(table))
		for table = table[4:]; rows > 0 && len(table) >= t.size; rows-- {
			all = append(all, t.read(table))
			table = table[t.size:]
		}
	}

	return all, nil
}

// socketTable calls a function that fills a table, until the table is large enough.
func socketTable(call string, family, class uintptr) ([]byte, error) {
	size := uint32(32 << 10)
	for {
		table := make([]byte, size)
		rc, _, _ := iphlpapi(call).Call(uintptr(unsafe.Pointer(&table[0])), uintptr(unsafe.Pointer(&size)), 1, family,
			class, 0)
		switch {
		case rc == 0:
			return table, nil
		case !errors.Is(windows.Errno(rc), windows.ERROR_INSUFFICIENT_BUFFER) || int(size) <= len(table):
			return nil, windows.Errno(rc)
		}
	}
}

// end4 and end6 read an address and a port of a row; the port is in network order.
func end4(row []byte, addr, port int) netip.AddrPort {
	a, _ := netip.AddrFromSlice(row[addr : addr+4])
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(row[port:]))
}

func end6(row []byte, addr, port int) netip.AddrPort {
	a, _ := netip.AddrFromSlice(row[addr : addr+16])
	if scope := binary.LittleEndian.Uint32(row[addr+16:]); scope != 0 && a.IsLinkLocalUnicast() {
		a = a.WithZone(strconv.FormatUint(uint64(scope), 10))
	}
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(row[port:]))
}

func word(row []byte, at int) uint32 { return binary.LittleEndian.Uint32(row[at:]) }

// The rows are MIB_TCPROW_OWNER_PID, MIB_TCP6ROW_OWNER_PID, MIB_UDPROW_OWNER_PID and MIB_UDP6ROW_OWNER_PID.
func tcp4(row []byte) Socket {
	return Socket{
		Protocol: "TCP",
		Local:    end4(row, 4, 8),
		Remote:   end4(row, 12, 16),
		State:    word(row, 0),
		PID:      word(row, 20),
	}
}

func tcp6(row []byte) Socket {
	return Socket{
		Protocol: "TCP",
		Local:    end6(row, 0, 20),
		Remote:   end6(row, 24, 44),
		State:    word(row, 48),
		PID:      word(row, 52),
	}
}

func udp4(row []byte) Socket {
	return Socket{
		Protocol: "UDP",
		Local:    end4(row, 0, 4),
		PID:      word(row, 8),
	}
}

func udp6(row []byte) Socket {
	return Socket{
		Protocol: "UDP",
		Local:    end6(row, 0, 20),
		PID:      word(row, 24),
	}
}

// Count returns the traffic of the interfaces.
func Count() (Traffic, error) {
	var table *ifTable2
	if rc, _, _ := iphlpapi("GetIfTable2").Call(uintptr(unsafe.Pointer(&table))); rc != 0 {
		return Traffic{}, fmt.Errorf("list the interfaces: %w", windows.Errno(rc))
	}
	defer windows.FreeMibTable(unsafe.Pointer(table))

	var t Traffic
	for _, r := range unsafe.Slice(&table.first, table.n) {
		if r.Type == windows.IF_TYPE_SOFTWARE_LOOPBACK {
			continue
		}

		t.BytesIn += r.InOctets
		t.UnicastIn += r.InUcastPkts
		t.OtherIn += r.InNUcastPkts
		t.DiscardsIn += r.InDiscards
		t.ErrorsIn += r.InErrors
		t.UnknownIn += r.InUnknownProtos
		t.BytesOut += r.OutOctets
		t.UnicastOut += r.OutUcastPkts
		t.OtherOut += r.OutNUcastPkts
		t.DiscardsOut += r.OutDiscards
		t.ErrorsOut += r.OutErrors
	}

	return t, nil
}

// ifTable2 is MIB_IF_TABLE2.
type ifTable2 struct {
	n     uint32
	_     uint32
	first windows.MibIfRow2
}

// CountProtocols returns the counters of the protocols of a family.
func CountProtocols(six bool) (Protocols, error) {
	family := uintptr(windows.AF_INET)
	if six {
		family = windows.AF_INET6
	}
	p := Protocols{
		IP:  make([]uint32, 23),
		TCP: make([]uint32, 15),
		UDP: make([]uint32, 5),
	}

	for _, c := range []struct {
		call string
		into []uint32
	}{
		{"GetIpStatisticsEx", p.IP}, {"GetTcpStatisticsEx", p.TCP}, {"GetUdpStatisticsEx", p.UDP},
	} {
		if rc, _, _ := iphlpapi(c.call).Call(uintptr(unsafe.Pointer(&c.into[0])), family); rc != 0 {
			return p, fmt.Errorf("%s: %w", c.call, windows.Errno(rc))
		}
	}

	return p, nil
}

// forwardRow is MIB_IPFORWARDROW.
type forwardRow struct {
	dest, mask, policy, hop, index, kind, proto, age, as uint32
	metrics                                              [5]uint32
}

// changeRoute calls a function of iphlpapi.dll that takes a MIB_IPFORWARDROW. The route is one of IPv4.
func changeRoute(call string, r Route) error {
	if !r.Prefix.Addr().Is4() || !r.Hop.Is4() {
		return windows.ERROR_NOT_SUPPORTED
	}

	dest, hop := r.Prefix.Addr().As4(), r.Hop.As4()
	row := forwardRow{
		dest:    binary.LittleEndian.Uint32(dest[:]), // as it lies in memory
		mask:    bits.ReverseBytes32(^uint32(0) << (32 - r.Prefix.Bits())),
		hop:     binary.LittleEndian.Uint32(hop[:]),
		index:   r.Index,
		kind:    4, // MIB_IPROUTE_TYPE_INDIRECT
		proto:   3, // MIB_IPPROTO_NETMGMT
		metrics: [5]uint32{r.Metric, ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0)},
	}

	if rc, _, _ := iphlpapi(call).Call(uintptr(unsafe.Pointer(&row))); rc != 0 {
		return windows.Errno(rc)
	}

	return nil
}

// AddRoute makes a route of IPv4; one with the same prefix and metric is ERROR_OBJECT_ALREADY_EXISTS.
func AddRoute(r Route) error { return changeRoute("CreateIpForwardEntry", r) }

// RemoveRoute removes a route of IPv4.
func RemoveRoute(r Route) error { return changeRoute("DeleteIpForwardEntry", r) }
