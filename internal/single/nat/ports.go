package nat

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/single/nat/wire"
)

// Port is a published port: Host, at the machine's address Addr, leads to the container's port Container.
type Port struct {
	Addr netip.Addr
	// Host is 0 for any port that is free, which is another one at each open.
	Host, Container uint16
	Protocol        wire.Protocol
	// Last is that of several ports, beginning with Host, of which the first that is free is taken; 0: there is one.
	Last uint16 `json:",omitempty"`
}

// String returns the machine's side, as in 127.0.0.1:8080/tcp.
func (p Port) String() string {
	if p.Last > p.Host {
		return fmt.Sprintf("%s-%d/%s", p.at(), p.Last, p.Protocol)
	}
	return fmt.Sprintf("%s/%s", p.at(), p.Protocol)
}

func (p Port) at() netip.AddrPort { return netip.AddrPortFrom(p.Addr, p.Host) }

// PortError is the error of a port that cannot be published.
type PortError struct {
	Port Port
	// Taken says that another program has it, or others have all of them.
	Taken bool
	Err   error
}

func (e *PortError) Error() string {
	if e.Taken && e.Port.Last > e.Port.Host {
		return fmt.Sprintf("publish %s: other programs of this machine have the ports", e.Port)
	}
	if e.Taken {
		return fmt.Sprintf("publish %s: another program of this machine has the port", e.Port)
	}
	return fmt.Sprintf("publish %s: %v", e.Port, e.Err)
}

// Unwrap returns the cause.
func (e *PortError) Unwrap() error { return e.Err }

// socket is the socket of a published port.
type socket interface {
	io.Closer
	syscall.Conn
}

// open opens the machine's side, and returns the port that it has become.
func (p Port) open() (socket, Port, error) {
	for one := p; ; one.Host++ {
		s, err := one.socket()
		taken := errors.Is(err, unix.EADDRINUSE)
		switch {
		case err == nil:
			one.Host, one.Last = portOf(s), 0
			return s, one, nil
		case !taken || one.Host >= p.Last:
			return nil, p, &PortError{
				Port:  p,
				Taken: taken,
				Err:   err,
			}
		}
	}
}

// portOf returns the port that a socket has.
func portOf(s socket) uint16 {
	switch s := s.(type) {
	case *net.TCPListener:
		return addrPort(s.Addr()).Port()
	case *net.UDPConn:
		return addrPort(s.LocalAddr()).Port()
	}
	return 0
}

// addrPort returns an address of TCP or UDP.
func addrPort(a net.Addr) netip.AddrPort {
	if a, ok := a.(interface{ AddrPort() netip.AddrPort }); ok {
		return a.AddrPort()
	}
	return netip.AddrPort{}
}

func (p Port) socket() (socket, error) {
	network := string(p.Protocol) + "4"
	if !p.Addr.Is4() {
		network = string(p.Protocol) + "6"
	}
	if p.Protocol == wire.UDP {
		return net.ListenUDP(network, net.UDPAddrFromAddrPort(p.at()))
	}
	return net.ListenTCP(network, net.TCPAddrFromAddrPort(p.at()))
}
