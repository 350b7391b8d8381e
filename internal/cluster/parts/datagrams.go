package parts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/places"
)

const (
	// mostFlows bounds the flows of a UDP port at a time, which are a client's ports. Datagrams of further ones are
	// dropped, and so are those of a client that has more than its share (package places).
	mostFlows = 512
	// flowIdle is how long nothing need pass before a client is forgotten; Linux' table of connections has as long for
	// one that had an answer (nf_conntrack_udp_timeout_stream).
	flowIdle = 120 * time.Second
	// mostDatagram is the size of the largest datagram of UDP, in bytes.
	mostDatagram = 65535
)

// datagrams copies datagrams between the clients of a UDP port and a server, which sees each client at a port of its
// own.
type datagrams struct {
	local *net.UDPConn
	to    netip.AddrPort
	log   *slog.Logger

	ctx    context.Context //nolint:containedctx // that of the port's life, which Close ends
	cancel context.CancelFunc
	places *places.Places[relayClient]
	done   sync.WaitGroup

	mu    sync.Mutex
	flows map[udpFlow]*net.UDPConn // nil when it is closed
}

// udpFlow is a client's port, and the address at which it asked: answers come from there.
type udpFlow struct {
	client netip.AddrPort
	at     netip.Addr // invalid if the socket has one address
}

// startDatagrams serves the address at until Close. ctx bounds the start.
func startDatagrams(ctx context.Context, at, to netip.AddrPort, log *slog.Logger) (*datagrams, error) {
	l, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", at.String())
	if err != nil {
		return nil, inUse(err)
	}

	d := &datagrams{
		local:  l.(*net.UDPConn), // what the network udp has
		to:     to,
		log:    log,
		places: places.New[relayClient](mostFlows),
		flows:  map[udpFlow]*net.UDPConn{},
	}
	if at.Addr().IsUnspecified() {
		if err := tellAddress(d.local, at.Addr()); err != nil {
			return nil, errors.Join(fmt.Errorf("learn at which address clients ask: %w", err), l.Close())
		}
	}

	d.ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	d.done.Go(d.serve)
	return d, nil
}

// Close ends the port and all flows.
func (d *datagrams) Close() error {
	d.cancel()
	err := d.local.Close()
	d.mu.Lock()
	for _, c := range d.flows {
		_ = c.Close() // its goroutine may have done so
	}
	d.flows = nil
	d.mu.Unlock()
	d.done.Wait()
	return err
}

func (d *datagrams) serve() {
	buffer, control := make([]byte, mostDatagram), make([]byte, mostControl)
	for {
		n, controls, _, from, err := d.local.ReadMsgUDPAddrPort(buffer, control)
		if err != nil {
			if !pause(d.ctx) {
				return
			}
			continue
		}

		server, err := d.flow(udpFlow{client: from, at: askedAt(control[:controls])})
		if err != nil {
			d.log.Debug("a datagram was dropped", "from", from.String(), "error", err)
			continue
		}
		_ = server.SetReadDeadline(time.Now().Add(flowIdle))
		_, _ = server.Write(buffer[:n]) // UDP promises nothing
	}
}

// flow returns the connection to the server of a flow.
func (d *datagrams) flow(f udpFlow) (*net.UDPConn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.flows[f]; c != nil {
		return c, nil
	}

	client := clientAt(f.client.Addr())
	if d.flows == nil || !d.places.Take(client) {
		return nil, errors.New("its client has too many flows")
	}

	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(d.to))
	if err != nil {
		d.places.Give(client)
		return nil, err
	}
	_ = c.SetReadDeadline(time.Now().Add(flowIdle))
	d.flows[f] = c
	d.done.Go(func() {
		defer d.places.Give(client)
		d.answer(f, c)
	})

	return c, nil
}

// answer sends a client what the server has for it, until nothing has passed for a while.
func (d *datagrams) answer(f udpFlow, server *net.UDPConn) {
	defer func() {
		_ = server.Close()
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.flows, f)
	}()

	buffer, control := make([]byte, mostDatagram), answerFrom(f.at)
	for {
		n, err := server.Read(buffer)
		if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			continue // the server's port is closed: it may be open for the next datagram
		}
		if err != nil {
			if !pause(d.ctx) {
				return
			}
			continue
		}

		_ = server.SetReadDeadline(time.Now().Add(flowIdle))
		_, _, _ = d.local.WriteMsgUDPAddrPort(buffer[:n], control, f.client)
	}
}

// mostControl is room for a control message with an address, in bytes.
const mostControl = 128

// tellAddress has a socket that is at all addresses say with each datagram to which of them it came
// (https://man7.org/linux/man-pages/man7/ip.7.html, IP_PKTINFO; RFC 3542, IPV6_RECVPKTINFO). A server of several
// addresses has to answer from the one that was asked: a connected client takes no answer from another.
func tellAddress(c *net.UDPConn, at netip.Addr) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}

	var set error
	err = raw.Control(func(fd uintptr) {
		if at.Is4() {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
		} else {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
		}
	})
	return errors.Join(err, set)
}

// askedAt returns the machine's address to which a datagram came, invalid if the control messages do not say it.
func askedAt(control []byte) netip.Addr {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return netip.Addr{}
	}

	for _, m := range messages {
		switch {
		case m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_PKTINFO && len(m.Data) >= 8:
			return netip.AddrFrom4([4]byte(m.Data[4:8])) // ipi_spec_dst, after the interface
		case m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_PKTINFO && len(m.Data) >= 16:
			return netip.AddrFrom16([16]byte(m.Data[:16])) // also for IPv4, which is mapped then
		}
	}
	return netip.Addr{}
}

// answerFrom returns the control message by which a datagram is sent from an address; nil: as the kernel chooses.
func answerFrom(at netip.Addr) []byte {
	switch {
	case at.Is4():
		return unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: at.As4()})
	case at.Is6():
		return unix.PktInfo6(&unix.Inet6Pktinfo{Addr: at.As16()})
	}
	return nil
}
