package gateway

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// pingPatience is how long an answer to a ping is waited for; ping.exe waits four seconds.
const pingPatience = 10 * time.Second

// defaultTTL is the number of routers that an answer may pass.
const defaultTTL = 64

// forwardPing sends a ping on, and its answer. Other messages of ICMP are none that a container sends.
func (c *container) forwardPing(id stack.TransportEndpointID, pkt *stack.PacketBuffer) bool {
	message := header.ICMPv4(append(pkt.TransportHeader().View().ToSlice(), pkt.Data().AsRange().ToSlice()...))
	if len(message) < header.ICMPv4MinimumSize {
		return true
	}

	to := netip.AddrFrom4(id.LocalAddress.As4())
	if c.server.subnet.Contains(to) {
		if peer := c.server.peer(to); peer != nil && peer != c && isPing(message.Type()) {
			peer.send(c.addr, message)
		}
		return true
	}

	if message.Type() != header.ICMPv4Echo || !c.pings.take() {
		return true
	}
	go func() {
		defer c.pings.free()
		if answer, err := c.ping(to, message); err == nil {
			c.send(to, answer)
		}
	}()

	return true
}

func isPing(t header.ICMPv4Type) bool { return t == header.ICMPv4Echo || t == header.ICMPv4EchoReply }

// ping sends a ping by a socket of the machine, whose kernel gives it a number of its own, and returns the answer with
// the number that it had.
func (c *container) ping(to netip.Addr, message header.ICMPv4) (header.ICMPv4, error) {
	if err := c.server.guard.check(to); err != nil {
		return nil, err
	}
	conn, err := pingSocket(to)
	if err != nil {
		return nil, err
	}
	defer conn.Close()

	number := message.Ident()
	if err := conn.SetDeadline(time.Now().Add(pingPatience)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(message); err != nil {
		return nil, err
	}

	answer := make(header.ICMPv4, len(message)+1)
	for {
		n, err := conn.Read(answer)
		if err != nil {
			return nil, err
		}
		got := answer[:n]
		if n == len(message) && got.Type() == header.ICMPv4EchoReply && got.Sequence() == message.Sequence() {
			got.SetIdent(number)
			return got, nil
		}
	}
}

// pingSocket returns a socket for pings to an address (icmp(7)). It takes no rights, but that the machine lets
// everybody ping (net.ipv4.ping_group_range), as systemd has it.
func pingSocket(to netip.Addr) (net.Conn, error) {
	const flags = unix.SOCK_DGRAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	fd, err := unix.Socket(unix.AF_INET, flags, unix.IPPROTO_ICMP)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "ping")
	defer file.Close()

	if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: to.As4()}); err != nil {
		return nil, err
	}
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, errors.Join(errors.New("ping"), err)
	}
	return conn, nil
}

// send sends the container a message of ICMP from an address.
func (c *container) send(from netip.Addr, message header.ICMPv4) {
	message.SetChecksum(0)
	message.SetChecksum(^checksum.Checksum(message, 0))
	packet := make([]byte, header.IPv4MinimumSize, header.IPv4MinimumSize+len(message))
	header.IPv4(packet).Encode(&header.IPv4Fields{
		TotalLength: uint16(header.IPv4MinimumSize + len(message)), //nolint:gosec // it has come in such a packet
		TTL:         defaultTTL,
		Protocol:    uint8(header.ICMPv4ProtocolNumber),
		SrcAddr:     tcpip.AddrFrom4(from.As4()),
		DstAddr:     tcpip.AddrFrom4(c.addr.As4()),
	})
	header.IPv4(packet).SetChecksum(^header.IPv4(packet).CalculateChecksum())
	payload := buffer.MakeWithData(append(packet, message...))
	_ = c.stack.WritePacketToRemote(nic, c.mac, ipv4.ProtocolNumber, payload) // as lost on the way
}
