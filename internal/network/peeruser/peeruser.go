// Package peeruser says which user of this machine is at the other end of a connection.
package peeruser

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// ErrElsewhere says that the other end is no socket of this network namespace.
var ErrElsewhere = errors.New("the other end is not in this network namespace")

// Of returns the user at the other end of a Unix or TCP connection. The kernel says who it is: for a Unix socket who
// connected, for TCP who made the socket that has the other end's addresses.
func Of(c net.Conn) (uid uint32, err error) {
	switch c := c.(type) {
	case *net.UnixConn:
		return ofUnix(c)
	case *net.TCPConn:
		here, hereOK := c.LocalAddr().(*net.TCPAddr)
		there, thereOK := c.RemoteAddr().(*net.TCPAddr)
		if !hereOK || !thereOK {
			return 0, net.ErrClosed
		}
		return ofTCP(there.AddrPort(), here.AddrPort())
	}
	return 0, errors.ErrUnsupported
}

func ofUnix(c *net.UnixConn) (uint32, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}

	var peer *unix.Ucred
	var asked error
	err = raw.Control(func(fd uintptr) {
		peer, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, asked); err != nil {
		return 0, err
	}
	return peer.Uid, nil
}

// Offsets in struct inet_diag_msg: https://github.com/torvalds/linux/blob/v6.12/include/uapi/linux/inet_diag.h
const (
	answerState = 1
	answerUID   = 64
	answerSize  = 72
)

// tcpListen is the state of a socket that listens (TCP_LISTEN, include/net/tcp_states.h).
const tcpListen = 10

// ofTCP asks sock_diag (https://man7.org/linux/man-pages/man7/sock_diag.7.html) for the socket with a local and a
// remote address.
func ofTCP(local, remote netip.AddrPort) (uint32, error) {
	ask := nl.NewNetlinkRequest(nl.SOCK_DIAG_BY_FAMILY, 0)
	ask.AddData(question{local, remote})
	answers, err := ask.Execute(unix.NETLINK_INET_DIAG, nl.SOCK_DIAG_BY_FAMILY)
	if errors.Is(err, unix.ENOENT) {
		return 0, ErrElsewhere
	}
	if err != nil {
		return 0, err
	}

	// A listener at the port of a remote client's is found too.
	if len(answers) != 1 || len(answers[0]) < answerSize || answers[0][answerState] == tcpListen {
		return 0, ErrElsewhere
	}
	return binary.NativeEndian.Uint32(answers[0][answerUID:]), nil
}

// question is a struct inet_diag_req_v2 for one TCP socket.
type question struct{ local, remote netip.AddrPort }

// Len implements nl.NetlinkRequestData.
func (question) Len() int { return 56 }

// Serialize implements nl.NetlinkRequestData.
func (q question) Serialize() []byte {
	local, remote := q.local.Addr().Unmap(), q.remote.Addr().Unmap()
	family := byte(unix.AF_INET)
	if local.Is6() {
		family = unix.AF_INET6
	}

	b := []byte{family, unix.IPPROTO_TCP, 0, 0}
	b = binary.NativeEndian.AppendUint32(b, ^uint32(0)) // of every state
	b = binary.BigEndian.AppendUint16(b, q.local.Port())
	b = binary.BigEndian.AppendUint16(b, q.remote.Port())
	for _, a := range []netip.Addr{local, remote} {
		field := [16]byte{}
		copy(field[:], a.AsSlice())
		b = append(b, field[:]...)
	}

	b = binary.NativeEndian.AppendUint32(b, 0)          // any interface
	b = binary.NativeEndian.AppendUint32(b, ^uint32(0)) // no cookie (INET_DIAG_NOCOOKIE), in both words
	return binary.NativeEndian.AppendUint32(b, ^uint32(0))
}
