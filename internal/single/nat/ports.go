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
	Addr            netip.Addr
	Host, Container uint16
	Protocol        wire.Protocol
}

// String is the machine's side, as in 127.0.0.1:8080/tcp.
func (p Port) String() string { return fmt.Sprintf("%s/%s", p.at(), p.Protocol) }

func (p Port) at() netip.AddrPort { return netip.AddrPortFrom(p.Addr, p.Host) }

// PortError is the error of a port that cannot be published.
type PortError struct {
	Port Port
	// Taken says that another program has it.
	Taken bool
	Err   error
}

func (e *PortError) Error() string {
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

// open opens the machine's side.
func (p Port) open() (socket, error) {
	s, err := p.socket()
	if err != nil {
		return nil, &PortError{Port: p, Taken: errors.Is(err, unix.EADDRINUSE), Err: err}
	}
	return s, nil
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
