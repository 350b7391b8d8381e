// Package winnet lists the routes, sockets and counters of the network that the Windows has on which the program runs,
// as iphlpapi.dll tells them (https://learn.microsoft.com/windows/win32/api/_iphlp/).
package winnet

import "net/netip"

// Route is a route.
type Route struct {
	// Index is the number of the interface.
	Index  uint32
	Prefix netip.Prefix
	// Hop is the next router; the unspecified address if the route leads to the interface itself.
	Hop     netip.Addr
	Metric  uint32
	Publish bool
}

// Socket is a socket of TCP or UDP, and the process that has it.
type Socket struct {
	// Protocol is "TCP" or "UDP".
	Protocol string
	Local    netip.AddrPort
	// Remote is the other end of a connection; it is not valid for a socket of UDP.
	Remote netip.AddrPort
	// State is MIB_TCP_STATE, 0 for a socket of UDP.
	State uint32
	PID   uint32
}

// The states of a socket that a caller may ask for by name
// (https://learn.microsoft.com/windows/win32/api/tcpmib/ns-tcpmib-mib_tcprow_lh).
const (
	StateListening   = 2
	StateEstablished = 5
)

// StateName returns the name of a state, as netstat prints it.
func StateName(state uint32) string {
	names := []string{
		"", "CLOSED", "LISTENING", "SYN_SENT", "SYN_RECEIVED", "ESTABLISHED", "FIN_WAIT_1", "FIN_WAIT_2", "CLOSE_WAIT",
		"CLOSING", "LAST_ACK", "TIME_WAIT", "DELETE_TCB",
	}
	if int(state) >= len(names) {
		return ""
	}
	return names[state]
}

// Traffic is what all interfaces but the loopback have received and sent.
type Traffic struct {
	BytesIn, UnicastIn, OtherIn, DiscardsIn, ErrorsIn, UnknownIn uint64
	BytesOut, UnicastOut, OtherOut, DiscardsOut, ErrorsOut       uint64
}

// Protocols are the counters of the protocols, in the order in which the structures of tcpmib.h, udpmib.h and ipmib.h
// have them: MIB_TCPSTATS, MIB_UDPSTATS and MIB_IPSTATS.
type Protocols struct {
	IP, TCP, UDP []uint32
}

// Forwards reports whether the interfaces pass on packets that are not the system's own: MIB_IPSTATS' dwForwarding, 1
// for yes and 2 for no. Both families of a host do, or none.
func Forwards() (bool, error) {
	p, err := CountProtocols(false)
	if err != nil {
		return false, err
	}
	return p.IP[0] == 1, nil
}
