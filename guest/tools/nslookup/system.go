package nslookup

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"mullion.dev/mullion/guest/tools/program"
)

// System is what nslookup needs of Windows.
type System interface {
	// Adapters are the adapters, which have the name servers and the DNS suffix.
	Adapters() ([]program.Adapter, error)
	// Resolve returns the first address of a name, by the rules of all programs: the hosts file, then DNS.
	Resolve(name string) (netip.Addr, error)
	// Dial connects to a server by network "udp" or "tcp".
	Dial(network string, to netip.AddrPort, timeout time.Duration) (net.Conn, error)
}

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return local{} }

type local struct{}

// Adapters implements System.
func (local) Adapters() ([]program.Adapter, error) { return program.Adapters() }

// Resolve implements System.
func (local) Resolve(name string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr, nil
	}
	addrs, err := net.LookupIP(name)
	if err != nil {
		return netip.Addr{}, err
	}
	addr, ok := netip.AddrFromSlice(addrs[0])
	if !ok {
		return netip.Addr{}, fmt.Errorf("resolve %q: %w", name, &net.AddrError{Err: "no IP address", Addr: addrs[0].String()})
	}
	return addr.Unmap(), nil
}

// Dial implements System.
func (local) Dial(network string, to netip.AddrPort, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout(network, to.String(), timeout)
}
